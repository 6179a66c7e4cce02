"""Small ONNX models for the lit tests of the importer: make.py CASE FOLDER writes FOLDER/CASE.onnx (and external data)."""
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
import os
import sys

import numpy as np
import onnx
import onnx.parser
from onnx import TensorProto as T
from onnx import helper as h
from onnx import numpy_helper as nh


def value(name, shape, element=T.FLOAT):
    return h.make_tensor_value_info(name, element, shape)


def model(nodes, inputs, outputs, opset=21, initializers=(), value_info=(), functions=(), domains=(), ir=10):
    graph = h.make_graph(nodes, "g", inputs, outputs, list(initializers), value_info=list(value_info))
    imports = [h.make_opsetid("", opset)] + [h.make_opsetid(d, v) for d, v in domains]
    return h.make_model(graph, opset_imports=imports, functions=list(functions), ir_version=ir)


def ints(name, values):
    return nh.from_array(np.array(values, dtype=np.int64), name)


def shapes():
    """Reshape by shape arithmetic over symbols, as exporters write it."""
    return model(
        [h.make_node("Shape", ["x"], ["s"]), h.make_node("Gather", ["s", "zero"], ["b"]),
         h.make_node("Unsqueeze", ["b", "axes"], ["b1"]), h.make_node("Concat", ["b1", "rest"], ["shape"], axis=0),
         h.make_node("Reshape", ["x", "shape"], ["r"]), h.make_node("Transpose", ["r"], ["y"], perm=[0, 2, 1, 3])],
        [value("x", ["batch", "seq", 12])], [value("y", ["batch", 3, "seq", 4])],
        initializers=[nh.from_array(np.array(0, dtype=np.int64), "zero"), ints("axes", [0]), ints("rest", [-1, 3, 4])])


def symbolic():
    """Slices and ranges whose bounds are symbols."""
    table = nh.from_array(np.zeros((16, 4), dtype=np.float32), "table")
    return model(
        [h.make_node("Shape", ["x"], ["seq"], start=1, end=2), h.make_node("Slice", ["table", "zero", "seq"], ["rows"], name="head"),
         h.make_node("Slice", ["x", "last", "end", "one"], ["tail"], name="tail"),
         h.make_node("Squeeze", ["seq"], ["length"]), h.make_node("Range", ["from", "length", "step"], ["places"], name="range"),
         h.make_node("Mul", ["length", "step"], ["same"]), h.make_node("Unsqueeze", ["same", "zero"], ["same1"]),
         h.make_node("Expand", ["rows", "three"], ["wide"])],
        [value("x", ["batch", "seq", 4])],
        [value("rows", ["seq", 4]), value("tail", None), value("places", ["seq"], T.INT64), value("same1", [1], T.INT64), value("wide", None)],
        initializers=[table, ints("zero", [0]), ints("one", [1]), ints("last", [-2]), ints("end", [2**63 - 1]), ints("three", [3, 1, 1]),
                      nh.from_array(np.array(0, dtype=np.int64), "from"), nh.from_array(np.array(1, dtype=np.int64), "step")])


def weights():
    """A large weight stays in the file, a small one becomes a constant, a large typed one a buffer."""
    big = nh.from_array(np.arange(512, dtype=np.float32).reshape(8, 64), "big")
    small = nh.from_array(np.ones(8, dtype=np.float32), "small")
    typed = h.make_tensor("typed", T.FLOAT, [300], [1.0] * 300)
    return model([h.make_node("Identity", [n], ["y_" + n]) for n in ("big", "small", "typed")], [],
                 [value("y_big", [8, 64]), value("y_small", [8]), value("y_typed", [300])], initializers=[big, small, typed])


def external():
    m = weights()
    onnx.external_data_helper.convert_model_to_external_data(m, location="external.bin", size_threshold=1024)
    return m


def leaving():
    """A location above the folder."""
    m = weights()
    big = m.graph.initializer[0]
    big.ClearField("raw_data")
    big.data_location = T.EXTERNAL
    for key, text in (("location", "../external.bin"), ("length", "2048")):
        big.external_data.add(key=key, value=text)
    return m


def attributes():
    """Attributes that no version of the operator has, or that mean something we do not do; one of another version passes."""
    table, ones = nh.from_array(np.zeros((4, 2), np.float32), "w"), nh.from_array(np.ones(2, np.float32), "g")
    return model([h.make_node("Relu", ["x"], ["a"], name="relu", leak=0.1),
                  h.make_node("FastGelu", ["x"], ["b"], name="gelu", domain="com.microsoft", approximate="tanh"),
                  h.make_node("EmbedLayerNormalization", ["i", "", "w", "w", "", "g", "g"], ["c", ""], name="mask", domain="com.microsoft",
                              mask_index_type=1),
                  h.make_node("Dropout", ["x"], ["y"], name="old", ratio=0.5)],
                 [value("x", [2]), value("i", [1, 3], T.INT32)], [value("a", [2]), value("b", [2]), value("c", None), value("y", [2])],
                 domains=[("com.microsoft", 1)], initializers=[table, ones])


def function():
    """A model-local function with an attribute reference, a default and an absent optional input."""
    body = [h.make_node("Gemm", ["a", "b", "c"], ["t"], name="inner"), h.make_node("LeakyRelu", ["t"], ["r"], name="act")]
    reference = body[1].attribute.add()
    reference.name, reference.ref_attr_name, reference.type = "alpha", "slope", onnx.AttributeProto.FLOAT
    f = h.make_function("local", "Dense", ["a", "b", "c"], ["r"], body, [h.make_opsetid("", 21)], attributes=["slope"])
    return model([h.make_node("Dense", ["x", "w"], ["y"], domain="local", slope=0.25)], [value("x", [2, 3]), value("w", [3, 4])],
                 [value("y", [2, 4])], functions=[f], domains=[("local", 1)])


def control():
    """If on a constant condition, and a Loop of three iterations with a scan output."""
    then = h.make_graph([h.make_node("Neg", ["x"], ["t"])], "then", [], [value("t", [2])])
    other = h.make_graph([h.make_node("Abs", ["x"], ["e"])], "else", [], [value("e", [2])])
    body = h.make_graph([h.make_node("Add", ["v", "n"], ["v1"]), h.make_node("Identity", ["v1"], ["scan"]),
                         h.make_node("Identity", ["c"], ["c1"])], "body",
                        [value("i", [], T.INT64), value("c", [], T.BOOL), value("v", [2])],
                        [value("c1", [], T.BOOL), value("v1", [2]), value("scan", [2])])
    return model([h.make_node("If", ["cond"], ["n"], then_branch=then, else_branch=other),
                  h.make_node("Loop", ["trips", "", "x"], ["y", "all"], body=body)],
                 [value("x", [2])], [value("y", [2]), value("all", [3, 2])],
                 initializers=[nh.from_array(np.array(True), "cond"), nh.from_array(np.array(3, dtype=np.int64), "trips")])


def chain():
    """For cuts: three stages, with a side input at the last."""
    return model([h.make_node("Relu", ["x"], ["a"], name="first"), h.make_node("Exp", ["a"], ["b"], name="second"),
                  h.make_node("Add", ["b", "side"], ["c"], name="third"), h.make_node("Neg", ["c"], ["y"], name="fourth")],
                 [value("x", ["n", 4]), value("side", [4])], [value("y", ["n", 4])])


def problems():
    """Several problems of several kinds at once; what depends on a failed value is not reported again."""
    return model([h.make_node("StringNormalizer", ["x"], ["a"], name="unknown"),
                  h.make_node("Transpose", ["x"], ["b"], name="attribute", perm=1),
                  h.make_node("Transpose", ["x"], ["c"], name="axis", perm=[0, 7]),
                  h.make_node("Add", ["x", "z"], ["d"], name="broadcast"),
                  h.make_node("Reshape", ["x", "s"], ["e"], name="dynamic"),
                  h.make_node("FooBar", ["x"], ["f"], name="foreign", domain="com.example"),
                  h.make_node("Add", ["a", "b"], ["y"], name="consumer"), h.make_node("Sum", ["c", "d", "e", "f"], ["y2"], name="other")],
                 [value("x", [2, 3]), value("z", [4]), value("s", [2], T.INT64)], [value("y", None), value("y2", None)])


def versions():
    return model([h.make_node("Trilu", ["x"], ["y"], name="old")], [value("x", [2, 2])], [value("y", [2, 2])], opset=13)


def declared():
    return model([h.make_node("Relu", ["x"], ["y"], name="relu")], [value("x", [2, 3])], [value("y", [2, 4])])


def declared_element():
    return model([h.make_node("Relu", ["x"], ["y"], name="relu")], [value("x", [2, 3])], [value("y", [2, 3], T.DOUBLE)])


def text(signature, body):
    return onnx.parser.parse_model(f'<ir_version: 8, opset_import: ["" : 18]> g {signature} {{ {body} }}')


def programs_while():
    return text("(float[t,n] x) => (float[n] y, float[k,n] all)", """
        s = Shape<start=0, end=1>(x) length = Squeeze(s) zero = Constant<value_int=0>() one = Constant<value_int=1>()
        go = Less(zero, length) axes = Constant<value_ints=[0]>() first = ReduceSum<keepdims=0>(x, axes)
        i, y, all = Loop ("", go, zero, first) <body = b (int64 turn, bool c, int64 j, float[n] v) => (bool d, int64 k, float[n] w, float[n] p) {
          k = Add(j, one) r = Gather(x, j) w = Mul(v, r) p = Tanh(w) f = Cast<to=1>(k) l = Cast<to=1>(length) d = Less(f, l) }>""")


def programs_until():
    made = text("(float[n] x) => (float[n] y)", """
        true = Constant<value = bool {1}>() ten = Constant<value_float=10.0>()
        y = Loop ("", true, x) <body = b (int64 i, bool c, float[n] v) => (bool d, float[n] w) {
          w = Add(v, x) s = ReduceSum<keepdims=0>(w) d = Less(s, ten) }>""")
    made.graph.node[-1].name = "until"
    return made


def programs_gru():
    return text("(float[t,b,3] x, float[1,12,3] w, float[1,12,4] r) => (float[t,1,b,4] y)",
                'y = GRU<hidden_size=4, direction="reverse">(x, w, r)')


def programs_branch():
    made = text("(float[n] x, bool c) => (float[m] y, float[k] z)", """
        nine = Constant<value_ints=[9]>() zero = Constant<value_float=0.0>()
        y = If (c) <then_branch = a () => (float[m] t) { e = Exp(x) s = Softmax<axis=0>(e) t = Reshape(s, nine) },
                    else_branch = b () => (float[m] f) { g = Reshape(x, nine) h = Abs(g) f = Sqrt(h) }>
        above = Greater(x, zero) z = Compress(x, above)""")
    made.graph.node[-1].name = "kept"
    return made


def programs_parts():
    return text("(float[n] x, bool c) => (float[k] y)", """
        zero = Constant<value_float=0.0>()
        y = If (c) <then_branch = a () => (float[k] t) { above = Greater(x, zero) t = Compress(x, above) },
                    else_branch = b () => (float[l] f) { f = Constant<value_floats=[1.0, 2.0]>() }>""")


def programs_squeeze():
    return text("(float[n,4,t] x) => (float[n,4] y)", """
        s = Shape(x) i = Constant<value_ints=[2]>() one = Constant<value_ints=[1]>() g = Gather(s, i) c = Equal(g, one)
        q = If (c) <then_branch = a () => (float[n,4] u) { u = Squeeze(x, i) }, else_branch = b () => (float[n,4,t] f) { f = Identity(x) }>
        y = Relu(q)""")


def programs_window():
    return text("(float[n,3,h,w] x, float[2,3,3,3] k) => (float[n,2,a,b] y)", "y = Conv<kernel_shape=[3,3]>(x, k)")


def escape():
    return model([h.make_node("Nope", ["x"], ["y"], name="\x1b[31m<b>")], [value("x", [2])], [value("y", [2])])


def unsorted():
    return model([h.make_node("Exp", ["a"], ["y"]), h.make_node("Relu", ["x"], ["a"])], [value("x", [2])], [value("y", [2])])


def defaults():
    """An input that is also an initialiser is a constant; a bound input too."""
    return model([h.make_node("Reshape", ["x", "s"], ["r"]), h.make_node("Reshape", ["r", "t"], ["y"])],
                 [value("x", [2, 6]), value("s", [2], T.INT64), value("t", [2], T.INT64)], [value("y", None)],
                 initializers=[ints("s", [3, 4])])


def devices():
    """Split over two devices, as IR version 11 says it."""
    made = model([h.make_node("Neg", ["x"], ["a"], name="neg"), h.make_node("Exp", ["a"], ["y"], name="exp")], [value("x", [4, 6])], [value("y", [4, 6])], ir=11)
    made.configuration.add(name="pair", num_devices=2)
    for number, tensor, axis in ((0, "x", 1), (1, "a", -1)):
        spec = made.graph.node[number].device_configurations.add(configuration_id="pair").sharding_spec.add(tensor_name=tensor, device=[0, 1])
        spec.sharded_dim.add(axis=axis).simple_sharding.add(num_shards=2)
    return made


def devices_unsaid():
    made = devices()
    for node in made.graph.node:
        del node.device_configurations[:]
    return made


def devices_two():
    made = devices()
    made.configuration.add(name="three", num_devices=3)
    of = made.graph.node[0].device_configurations.add(configuration_id="three").sharding_spec.add(tensor_name="x", device=[0, 1, 2])
    of.sharded_dim.add(axis=1).simple_sharding.add(num_shards=3)
    return made


def _changed(change):
    def make():
        made = devices()
        of = made.graph.node[1].device_configurations[0]
        change(made, of, of.sharding_spec[0])
        return made
    return make


devices_axes = _changed(lambda made, of, spec: made.graph.node[0].device_configurations[0].sharding_spec.add(tensor_name="a", device=[0, 1])
                        .sharded_dim.add(axis=0).simple_sharding.add(num_shards=2))
devices_uneven = _changed(lambda made, of, spec: setattr(spec.sharded_dim[0].simple_sharding[0], "num_shards", 3))
devices_both = _changed(lambda made, of, spec: spec.sharded_dim.add(axis=0).simple_sharding.add(num_shards=2))
devices_order = _changed(lambda made, of, spec: spec.device.__setitem__(0, 5))
devices_stage = _changed(lambda made, of, spec: setattr(of, "pipeline_stage", 1))
devices_unknown = _changed(lambda made, of, spec: setattr(of, "configuration_id", "trio"))
devices_tensor = _changed(lambda made, of, spec: setattr(spec, "tensor_name", "x"))
devices_rank = _changed(lambda made, of, spec: setattr(spec.sharded_dim[0], "axis", 2))
devices_ways = _changed(lambda made, of, spec: spec.sharded_dim[0].simple_sharding.add(num_shards=2))
devices_axisless = _changed(lambda made, of, spec: spec.sharded_dim[0].ClearField("axis"))
devices_groups = _changed(lambda made, of, spec: spec.index_to_device_group_map.add(key=0))
devices_none = _changed(lambda made, of, spec: setattr(made.configuration[0], "num_devices", 0))
devices_output = _changed(lambda made, of, spec: setattr(spec, "tensor_name", "y"))


def devices_many():
    """More devices than a program has ranks."""
    made = devices()
    made.configuration[0].num_devices = 2000
    for node in made.graph.node:
        spec = node.device_configurations[0].sharding_spec[0]
        spec.device[:] = range(2000)
        spec.sharded_dim[0].simple_sharding[0].num_shards = 2000
    return made


def devices_folded():
    """Of a node that does nothing, and is not there any more."""
    made = devices()
    made.graph.node.insert(1, h.make_node("Identity", ["a"], ["same"], name="same"))
    made.graph.node[2].input[0] = "same"
    made.graph.node[2].device_configurations[0].sharding_spec[0].tensor_name = "same"
    return made


def devices_body():
    """In a branch, and in a function."""
    made = devices()
    then = h.make_graph([h.make_node("Neg", ["x"], ["t"], name="inner")], "then", [], [value("t", [4, 6])])
    other = h.make_graph([h.make_node("Abs", ["x"], ["e"])], "else", [], [value("e", [4, 6])])
    then.node[0].device_configurations.add(configuration_id="pair")
    made.graph.input.append(value("c", [], T.BOOL))
    made.graph.output.append(value("z", [4, 6]))
    made.graph.node.append(h.make_node("If", ["c"], ["z"], then_branch=then, else_branch=other))
    function = h.make_function("own", "Twice", ["p"], ["q"], [h.make_node("Add", ["p", "p"], ["q"], name="add")], [h.make_opsetid("", 21)])
    function.node[0].device_configurations.add(configuration_id="pair")
    made.functions.append(function)
    made.opset_import.append(h.make_opsetid("own", 1))
    return made


def devices_several():
    """One of several outputs."""
    made = devices()
    made.graph.node[0].CopyFrom(h.make_node("Split", ["x"], ["a", "b"], name="halves", num_outputs=2, axis=0))
    made.graph.output[0].CopyFrom(value("y", [2, 6]))
    return made


def main():
    name, folder = sys.argv[1:3]
    os.makedirs(folder, exist_ok=True)
    made = globals()[name]()
    path = os.path.join(folder, name + ".onnx")
    if any(t.data_location == T.EXTERNAL and not t.HasField("raw_data") for t in made.graph.initializer):
        with open(path, "wb") as file:  # onnx.save would look for the data.
            file.write(made.SerializeToString())
    else:
        onnx.save(made, path)


main()
