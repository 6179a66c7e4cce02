// How a model says that it is split over devices (IR version 11).
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// `ModelProto.configuration` names meshes, `NodeProto.device_configurations` says of a node's inputs and outputs along
// which axis they are split there. Here a tensor lies in one way, whoever reads it, over all devices of a
// configuration, along one axis: what says more is refused with the node, the tensor and the axis. What is said to be
// whole is no request: it is whole unless something else that is asked for splits it.
#ifndef WEFT_LIB_IMPORT_ONNX_DEVICES_H
#define WEFT_LIB_IMPORT_ONNX_DEVICES_H

#include "weft/Import/Onnx/Import.h"

namespace onnx {
class ModelProto;
} // namespace onnx

namespace weft::onnx {

/// The configurations of a model in its order. What contradicts itself, or cannot be done, goes to `diagnostics`.
std::vector<DeviceConfiguration> readDevices(const ::onnx::ModelProto &proto, Diagnostics &diagnostics);

} // namespace weft::onnx

#endif // WEFT_LIB_IMPORT_ONNX_DEVICES_H
