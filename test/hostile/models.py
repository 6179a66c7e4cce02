"""Hostile and broken models: name -> function of a folder that returns the file's bytes (and may place files beside it)."""
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
from __future__ import annotations

import os
import pathlib

import numpy as np
import onnx
from onnx import AttributeProto, TensorProto, helper, numpy_helper

from wire import external, field, info, model, relu, tensor, unary, varint

BIG = 1 << 40
CASES: dict = {}


def case(function):
    CASES[function.__name__] = function
    return function


def add(name: str, make) -> None:
    """A case that needs no folder; `make` gives a model or bytes."""
    def build(_: pathlib.Path) -> bytes:
        made = make()
        return made if isinstance(made, bytes) else made.SerializeToString()

    CASES[name] = build


def good() -> bytes:
    return tensor([2, 3], raw_data=np.ones((2, 3), np.float32).tobytes()).SerializeToString()


def changed(proto: onnx.ModelProto, change) -> onnx.ModelProto:
    change(proto)
    return proto


# The wire.
add("wire_empty", lambda: b"")
add("wire_text", lambda: b"ir_version: 9\ngraph { }\n")
add("wire_random", lambda: np.random.default_rng(1).bytes(4096))
add("wire_truncated_quarter", lambda: good()[:len(good()) // 4])
add("wire_truncated_last_byte", lambda: good()[:-1])
add("wire_length_past_end", lambda: field(7, b"\x0a\x00", length=1 << 30))
add("wire_length_2_63", lambda: field(7, b"\x0a\x00", length=1 << 63))
add("wire_endless_varint", lambda: b"\x08" + b"\xff" * 4096)
add("wire_unknown_fields_only", lambda: b"".join(field(1000 + i, b"abc") for i in range(100)))
add("wire_groups", lambda: varint(7 << 3 | 3) * 1000)


def _nested_graphs(depth: int) -> bytes:
    """A graph inside a node's attribute inside a graph, `depth` times."""
    graph = b""
    for _ in range(depth):
        attribute = field(1, b"body") + varint(20 << 3) + varint(AttributeProto.GRAPH) + field(6, graph)
        graph = field(1, field(4, b"If") + field(2, b"y") + field(5, attribute))
    return b"\x08\x09" + field(8, b"\x10\x14") + field(7, graph)


add("wire_depth_bomb_60", lambda: _nested_graphs(60))
add("wire_depth_bomb_5000", lambda: _nested_graphs(5000))


def _nested_types(depth: int) -> bytes:
    """An input that is a sequence of sequences of ...: messages without a graph in them."""
    kind = field(1, varint(1 << 3) + varint(TensorProto.FLOAT))
    for _ in range(depth):
        kind = field(4, field(1, kind))
    return b"\x08\x09" + field(8, b"\x10\x14") + field(7, field(11, field(1, b"x") + field(2, kind)))


add("wire_type_depth_bomb_60", lambda: _nested_types(60))
add("wire_type_depth_bomb_5000", lambda: _nested_types(5000))
add("wire_no_graph", lambda: b"\x08\x09" + field(8, b"\x10\x14"))
add("wire_no_opset", lambda: changed(relu(), lambda m: m.ClearField("opset_import")))
add("wire_node_name_not_utf8", lambda: relu(op_type="NoSuchOp").SerializeToString().replace(b"the_node", b"\xff\xfe\xc0\x80node"))

# Extents and tensor data.
add("dims_product_overflows", lambda: tensor([1 << 32, 1 << 32], raw_data=b"1234"))
add("dims_negative", lambda: tensor([-2, 3], raw_data=bytes(24)))
add("dims_rank_1000", lambda: tensor([1] * 1000, raw_data=bytes(4)))
add("dims_huge_without_data", lambda: tensor([BIG]))
add("dims_input_2_62", lambda: model([helper.make_node("Relu", ["x"], ["y"])], inputs=[info("x", [1 << 62])], outputs=[info("y", [1 << 62])]))
add("dims_input_negative", lambda: model([helper.make_node("Relu", ["x"], ["y"])], inputs=[info("x", [-5])], outputs=[info("y", None)]))
add("data_too_short", lambda: tensor([2, 3], raw_data=bytes(20)))
add("data_too_long", lambda: tensor([2, 3], raw_data=bytes(28)))
add("data_typed_and_raw", lambda: tensor([2, 3], raw_data=bytes(24), float_data=[1.0] * 6))
add("data_in_the_wrong_field", lambda: tensor([2, 3], int64_data=[1] * 6))
add("data_typed_count", lambda: tensor([2, 3], float_data=[1.0] * 5))
add("data_type_undefined", lambda: tensor([2, 3], dtype=0, raw_data=bytes(24)))
add("data_type_999", lambda: tensor([2, 3], dtype=999, raw_data=bytes(24)))
add("data_int4_short", lambda: tensor([5], dtype=TensorProto.INT4, raw_data=b"\x01"))
add("data_string_weight", lambda: tensor([1], dtype=TensorProto.STRING, string_data=[b"a"]))
add("data_segment", lambda: changed(tensor([2, 3], raw_data=bytes(24)), lambda m: setattr(m.graph.initializer[0].segment, "end", 9)))

# External data.
add("external_parent", lambda: external(location="../../../../etc/passwd", length=24))
add("external_parent_in_the_middle", lambda: external(location="sub/../../weights.bin", length=24))
add("external_absolute", lambda: external(location="/etc/passwd", length=24))
add("external_url", lambda: external(location="file:///etc/passwd", length=24))
add("external_empty_location", lambda: external(location="", length=24))
add("external_no_location", lambda: external(length=24))
add("external_missing_file", lambda: external(location="nothing.bin", length=24))
add("external_device", lambda: external(location="/dev/zero", length=24))
add("external_long_location", lambda: external(location="a" * 100000, length=24))


def _beside(name: str, make_file, **entries) -> None:
    """External data in the file `weights.bin` that `make_file` puts beside the model."""
    def build(folder: pathlib.Path) -> bytes:
        make_file(folder / "weights.bin")
        return external(**{"location": "weights.bin", **entries}).SerializeToString()

    CASES[name] = build


def _bytes(count: int):
    return lambda path: path.write_bytes(bytes(count))


_beside("external_symlink", lambda path: path.symlink_to("/etc/passwd"), length=24)
_beside("external_fifo", os.mkfifo, length=24)
_beside("external_folder", lambda path: path.mkdir(), length=24)
_beside("external_device_link", lambda path: path.symlink_to("/dev/zero"), length=24)
_beside("external_negative_offset", _bytes(64), offset=-8, length=24)
_beside("external_offset_past_end", _bytes(64), offset=4096, length=24)
_beside("external_range_wraps", _bytes(64), offset=(1 << 64) - 8, length=24)
_beside("external_length_past_end", _bytes(20), length=24)
_beside("external_length_of_another_shape", _bytes(64), length=20)
_beside("external_offset_not_a_number", _bytes(64), offset="0x10", length=24)
_beside("external_length_not_a_number", _bytes(64), length="24 bytes")


@case
def external_folder_link(folder: pathlib.Path) -> bytes:
    (folder / "sub").symlink_to("/etc")
    return external(location="sub/passwd", length=24).SerializeToString()


@case
def external_nul_in_location(folder: pathlib.Path) -> bytes:
    (folder / "weights.bin").write_bytes(bytes(64))
    return external(location="weights.bin\0../x", length=24).SerializeToString()


# The graph.
def _node(op: str, inputs: list, outputs: list, **attributes) -> onnx.NodeProto:
    return helper.make_node(op, inputs, outputs, name=f"make_{outputs[0]}", **attributes)


add("graph_cycle", lambda: model([_node("Add", ["x", "b"], ["a"]), _node("Relu", ["a"], ["b"]), _node("Relu", ["b"], ["y"])]))
add("graph_self_cycle", lambda: model([_node("Add", ["x", "y"], ["y"])]))
add("graph_value_defined_twice", lambda: model([_node("Relu", ["x"], ["y"]), _node("Neg", ["x"], ["y"])]))
add("graph_input_redefined", lambda: model([_node("Relu", ["x"], ["x"]), _node("Relu", ["x"], ["y"])]))
add("graph_missing_value", lambda: model([_node("Relu", ["nowhere"], ["y"])]))
add("graph_missing_output", lambda: model([_node("Relu", ["x"], ["z"])]))
add("graph_two_inputs_of_one_name", lambda: model([_node("Relu", ["x"], ["y"])], inputs=[info("x"), info("x")]))
add("graph_two_weights_of_one_name", lambda: model([_node("Add", ["x", "w"], ["y"])], initializers=[
    numpy_helper.from_array(np.ones((2, 3), np.float32), "w"), numpy_helper.from_array(np.zeros((2, 3), np.float32), "w")]))
add("graph_input_without_type", lambda: model([_node("Relu", ["x"], ["y"])], inputs=[onnx.ValueInfoProto(name="x")]))
add("graph_no_operator", lambda: relu(op_type=""))
add("graph_unknown_operator", lambda: relu(op_type="NoSuchOperator"))
add("graph_unknown_domain", lambda: relu(domain="com.example.nowhere"))
add("graph_opset_zero", lambda: changed(relu(), lambda m: setattr(m.opset_import[0], "version", 0)))
add("graph_opset_negative", lambda: changed(relu(), lambda m: setattr(m.opset_import[0], "version", -1)))
add("graph_opset_9999", lambda: changed(relu(), lambda m: setattr(m.opset_import[0], "version", 9999)))
add("graph_too_many_inputs", lambda: relu(input=["x"] * 100))
add("graph_no_inputs", lambda: relu(input=[]))
add("graph_no_outputs", lambda: relu(output=[]))
add("graph_shapes_do_not_broadcast", lambda: tensor([7, 5], raw_data=bytes(140)))
add("graph_declared_element_differs", lambda: model([_node("Relu", ["x"], ["y"])], outputs=[info("y", [2, 3], TensorProto.DOUBLE)]))


def _function(name: str, calls: list[str]) -> onnx.FunctionProto:
    """A function of one input that calls others in a chain."""
    names = ["a"] + [f"v{i}" for i in range(len(calls) - 1)] + ["b"]
    nodes = [helper.make_node(c, [names[i]], [names[i + 1]], domain="f") for i, c in enumerate(calls)]
    return helper.make_function("f", name, ["a"], ["b"], nodes, [helper.make_opsetid("", 20), helper.make_opsetid("f", 1)])


def _calls(functions: list, name: str) -> onnx.ModelProto:
    return model([helper.make_node(name, ["x"], ["y"], domain="f", name="the_node")], functions=functions, domains=["f"])


add("function_calls_itself", lambda: _calls([_function("A", ["A"])], "A"))
add("function_mutual_recursion", lambda: _calls([_function("A", ["B"]), _function("B", ["A"])], "A"))
add("function_expansion_bomb", lambda: _calls([_function(f"F{i}", [f"F{i - 1}"] * 2) for i in range(1, 40)] + [
    helper.make_function("f", "F0", ["a"], ["b"], [helper.make_node("Relu", ["a"], ["b"])], [helper.make_opsetid("", 20)])], "F39"))

# Attributes.
add("attribute_axis_is_text", lambda: unary("Softmax", axis="last"))
add("attribute_axis_out_of_range", lambda: unary("Softmax", axis=7))
add("attribute_axis_least_integer", lambda: unary("Softmax", axis=-(1 << 63)))
add("attribute_perm_is_floats", lambda: unary("Transpose", perm=[1.0, 0.0]))
add("attribute_perm_repeats", lambda: unary("Transpose", perm=[0, 0]))
add("attribute_perm_too_long", lambda: unary("Transpose", perm=[0, 1, 2, 3]))
add("attribute_cast_to_999", lambda: unary("Cast", to=999))
add("attribute_concat_without_axis", lambda: unary("Concat"))
add("attribute_twice", lambda: changed(unary("Softmax", axis=1), lambda m: m.graph.node[0].attribute.append(m.graph.node[0].attribute[0])))
add("attribute_without_value", lambda: changed(unary("Softmax", axis=1), lambda m: m.graph.node[0].attribute[0].ClearField("i")
                                              or setattr(m.graph.node[0].attribute[0], "type", AttributeProto.INTS)))
add("attribute_reference_outside_function", lambda: changed(unary("Softmax", axis=1), lambda m: setattr(
    m.graph.node[0].attribute[0], "ref_attr_name", "nothing")))


def _conv(**attributes) -> onnx.ModelProto:
    weight = numpy_helper.from_array(np.ones((4, 3, 3, 3), np.float32), "w")
    node = helper.make_node("Conv", ["x", "w"], ["y"], name="the_node", **attributes)
    return model([node], inputs=[info("x", [1, 3, 8, 8])], outputs=[info("y", None)], initializers=[weight])


add("conv_stride_zero", lambda: _conv(strides=[0, 1]))
add("conv_dilation_negative", lambda: _conv(dilations=[-1, 1]))
add("conv_group_zero", lambda: _conv(group=0))
add("conv_group_does_not_divide", lambda: _conv(group=5))
add("conv_kernel_differs", lambda: _conv(kernel_shape=[5, 5]))
add("conv_pads_negative_size", lambda: _conv(pads=[-9, -9, -9, -9]))
add("conv_pads_huge", lambda: _conv(pads=[1 << 62] * 4))
add("conv_pads_too_few", lambda: _conv(pads=[1, 1]))

# Bombs: little to write, much to compute or to hold.
add("bomb_constant_of_shape", lambda: model([
    _node("ConstantOfShape", ["s"], ["c"]), _node("ReduceSum", ["c"], ["y"], keepdims=0)], inputs=[], outputs=[info("y", [])], initializers=[
        numpy_helper.from_array(np.array([BIG, BIG]), "s")]))
add("bomb_expand", lambda: unary("Expand", [np.array([BIG, 2, 3])], outputs=[info("y", None)]))
add("bomb_tile", lambda: unary("Tile", [np.array([BIG, BIG])], outputs=[info("y", None)]))
add("bomb_pad", lambda: unary("Pad", [np.array([0, 0, BIG, BIG])], outputs=[info("y", None)]))
add("bomb_range", lambda: model([_node("Range", ["a", "b", "d"], ["y"])], inputs=[], outputs=[info("y", None, TensorProto.INT64)], initializers=[
    numpy_helper.from_array(np.int64(v), n) for n, v in (("a", 0), ("b", 1 << 60), ("d", 1))]))
add("bomb_one_hot", lambda: model([_node("OneHot", ["x", "depth", "values"], ["y"])], inputs=[info("x", [4], TensorProto.INT64)], outputs=[
    info("y", None)], initializers=[numpy_helper.from_array(np.int64(BIG), "depth"), numpy_helper.from_array(np.float32([0, 1]), "values")]))
add("bomb_resize", lambda: model([helper.make_node("Resize", ["x", "", "s"], ["y"], name="the_node")], outputs=[info("y", None)], initializers=[
    numpy_helper.from_array(np.float32([1e12, 1e12]), "s")]))
add("bomb_resize_aspect", lambda: model(
    [helper.make_node("Resize", ["x", "", "", "s"], ["y"], name="the_node", keep_aspect_ratio_policy="not_smaller", axes=[0, 1])],
    inputs=[info("x", [1, 1 << 47])], outputs=[info("y", None)], initializers=[numpy_helper.from_array(np.array([(1 << 31) - 1, 1]), "s")]))
add("bomb_doubling_concat", lambda: model(
    [_node("Concat", [f"v{i}" if i else "w"] * 2, [f"v{i + 1}"], axis=0) for i in range(60)] + [_node("ReduceSum", ["v60"], ["y"], keepdims=0)],
    inputs=[], outputs=[info("y", [])], initializers=[numpy_helper.from_array(np.ones(64, np.float32), "w")]))


def _loop(trips: int) -> onnx.ModelProto:
    body = helper.make_graph([helper.make_node("Identity", ["go"], ["going"]), helper.make_node("Relu", ["v"], ["w"])], "body", [
        info("i", [], TensorProto.INT64), info("go", [], TensorProto.BOOL), info("v")], [info("going", [], TensorProto.BOOL), info("w")])
    return model([helper.make_node("Loop", ["n", "yes", "x"], ["y"], name="the_node", body=body)], initializers=[
        numpy_helper.from_array(np.int64(trips), "n"), numpy_helper.from_array(np.bool_(True), "yes")])


add("bomb_loop_trips", lambda: _loop(1 << 62))


def _list(trips: int) -> onnx.ModelProto:
    """A loop that appends to a sequence, `trips` times."""
    insert = helper.make_node("SequenceInsert", ["s", "x"], ["t"])
    body = helper.make_graph([insert, helper.make_node("Identity", ["c"], ["d"])], "body", [
        info("i", [], TensorProto.INT64), info("c", [], TensorProto.BOOL), helper.make_tensor_sequence_value_info("s", TensorProto.FLOAT, None)],
        [info("d", [], TensorProto.BOOL), helper.make_tensor_sequence_value_info("t", TensorProto.FLOAT, None)])
    nodes = [helper.make_node("SequenceEmpty", [], ["e"]), helper.make_node("Loop", ["n", "", "e"], ["l"], name="the_node", body=body),
             helper.make_node("SequenceLength", ["l"], ["y"])]
    return model(nodes, outputs=[info("y", [], TensorProto.INT64)], initializers=[numpy_helper.from_array(np.array(trips), "n")])


def _lists(nodes: list) -> onnx.ModelProto:
    return model([*nodes], outputs=[info("y", None)], initializers=[numpy_helper.from_array(np.array(1 << 62), "n")])


add("list_grows_in_a_loop", lambda: _list(4000))
add("list_of_too_many_pieces", lambda: model(
    [helper.make_node("SplitToSequence", ["x"], ["s"], name="the_node"), helper.make_node("SequenceLength", ["s"], ["y"])],
    inputs=[info("x", [1 << 30])], outputs=[info("y", [], TensorProto.INT64)]))
add("list_position", lambda: _lists([helper.make_node("SequenceConstruct", ["x"], ["s"]), helper.make_node("SequenceAt", ["s", "n"], ["y"])]))
add("list_for_a_tensor", lambda: _lists([helper.make_node("SequenceConstruct", ["x"], ["s"]), helper.make_node("MatMul", ["s", "x"], ["y"])]))
add("list_as_shape", lambda: _lists([helper.make_node("SequenceConstruct", ["n"], ["s"]), helper.make_node("Reshape", ["x", "s"], ["y"])]))



def _ml(op: str, inputs: dict, domain: str = "ai.onnx.ml", **attributes) -> onnx.ModelProto:
    """One node of another domain than ONNX's."""
    node = helper.make_node(op, list(inputs), ["y"], name="the_node", domain=domain, **attributes)
    graph = helper.make_graph([node], "g", [helper.make_tensor_value_info(name, kind, shape) for name, (kind, shape) in inputs.items() if name],
                              [info("y", None)])
    return helper.make_model(graph, ir_version=9, opset_imports=[helper.make_opsetid("", 20), helper.make_opsetid("ai.onnx.ml", 5),
                                                                helper.make_opsetid("com.microsoft", 1)])


def _trees(count: int, on_true, on_false, **changes) -> onnx.ModelProto:
    """`count` inner nodes and one leaf, which is where the branches to `count` lead."""
    sides = {}
    for side, places in (("true", [on_true(i) for i in range(count)]), ("false", [on_false(i) for i in range(count)])):
        sides[f"nodes_{side}leafs"] = [int(place == count) for place in places]
        sides[f"nodes_{side}nodeids"] = [0 if place == count else place for place in places]
    attributes = {"nodes_featureids": [0] * count, "nodes_splits": helper.make_tensor("s", TensorProto.FLOAT, [count], [0.0] * count),
                  "nodes_modes": helper.make_tensor("m", TensorProto.UINT8, [count], [0] * count), "tree_roots": [0], "n_targets": 1,
                  "leaf_targetids": [0], "leaf_weights": helper.make_tensor("w", TensorProto.FLOAT, [1], [1.0]), **sides, **changes}
    return _ml("TreeEnsemble", {"x": (TensorProto.FLOAT, [2, 3])}, **attributes)


def _grams(**changes) -> onnx.ModelProto:
    attributes = {"mode": "TF", "min_gram_length": 1, "max_gram_length": 2, "max_skip_count": 0, "ngram_counts": [0, 2], "ngram_indexes": [0, 1, 2],
                  "pool_int64s": [1, 2, 3, 4], **changes}
    return _ml("TfIdfVectorizer", {"x": (TensorProto.INT64, ["n", "c"])}, "", **attributes)


# Trees whose branches lead back, or down without end; 2^30 paths over 30 nodes.
add("tree_below_itself", lambda: _trees(3, lambda i: (i + 1) % 3, lambda i: 3))
add("tree_of_one_node", lambda: _trees(1, lambda i: 0, lambda i: 0))
add("tree_deep", lambda: _trees(100_000, lambda i: i + 1, lambda i: 100_000))
add("tree_paths", lambda: _trees(30, lambda i: i + 1, lambda i: i + 1, nodes_featureids=[7] * 30))
add("tree_roots", lambda: _trees(2, lambda i: i + 1, lambda i: 2, tree_roots=[1 << 62]))
add("tree_targets", lambda: _trees(2, lambda i: i + 1, lambda i: 2, n_targets=1 << 62))
add("tree_missing_weights", lambda: _trees(2, lambda i: i + 1, lambda i: 2, leaf_targetids=[0, 0]))
add("grams_pool", lambda: _grams(ngram_counts=[0, -1]))
add("grams_columns", lambda: _grams(ngram_indexes=[0, 1, 1 << 62]))
add("grams_skips", lambda: _grams(max_skip_count=1 << 62))
add("grams_lengths", lambda: _grams(max_gram_length=-(1 << 62)))
add("experts_chosen", lambda: _ml("MoE", {"x": (1, [2, 8]), "r": (1, [2, 4]), "a": (1, [4, 6, 8]), "": (1, []), "b": (1, [4, 8, 6])}, "com.microsoft", k=1 << 62))
add("experts_hidden", lambda: _ml("MoE", {"x": (1, [2, 8]), "r": (1, [2, 4]), "a": (1, [4, 6, 9]), "e": (1, [4, 6]), "b": (1, [4, 8, 6])}, "com.microsoft"))
add("nbits_shape", lambda: _ml("MatMulNBits", {"x": (1, [2, 8]), "b": (2, [6, 1, 8]), "s": (1, [6])}, "com.microsoft", K=1 << 62, N=1 << 62, block_size=16))
add("dft_length", lambda: model([helper.make_node("DFT", ["x", "n"], ["y"], name="the_node")], inputs=[info("x", [1, 9, 1])],
                                initializers=[numpy_helper.from_array(np.array(1 << 62), "n")]))
add("mel_bins", lambda: model([helper.make_node("MelWeightMatrix", ["n", "n", "n", "h", "h"], ["y"], name="the_node")],
                              initializers=[numpy_helper.from_array(np.array(1 << 30), "n"), numpy_helper.from_array(np.float32(np.nan), "h")]))
add("col2im_image", lambda: model([helper.make_node("Col2Im", ["x", "n", "n"], ["y"], name="the_node")], inputs=[info("x", [1, 9, 9])],
                                  initializers=[numpy_helper.from_array(np.array([1 << 30, 1 << 30]), "n")]))

# Text that would do something to a terminal or a page.
add("text_escape_sequence", lambda: relu(op_type="\x1b[2J\x1b]0;owned\x07", name="\x1b[31mred"))
add("text_html", lambda: relu(op_type="<script>alert(1)</script>", name="<img src=x onerror=alert(1)>"))
add("text_newlines", lambda: relu(op_type="Bad\nmodel.onnx: error: forged line\n"))
add("text_right_to_left", lambda: relu(op_type="Bad\u202egnp.exe"))
add("text_long", lambda: relu(op_type="A" * (1 << 20)))
