// Collectives of GPUs.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_COMM_NCCLTRANSPORT_H
#define WEFT_COMM_NCCLTRANSPORT_H

#include "Communicator.h"

namespace weft {

/// Loads NCCL and joins its communicator, whose id rank 0 makes and sends over `links`; `device` has streams. Device:
/// there is no library, or it refuses.
bundle::Error createNcclTransport(const CommunicatorOptions &options, Links &links, Device &device,
                                  std::unique_ptr<Transport> &transport);

} // namespace weft

#endif // WEFT_COMM_NCCLTRANSPORT_H
