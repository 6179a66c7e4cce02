// The `tg` dialect and the base records that every op family shares.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_DIALECT_TILEGRAPH_IR_TILEGRAPHBASE_TD
#define WEFT_DIALECT_TILEGRAPH_IR_TILEGRAPHBASE_TD

include "mlir/IR/OpBase.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/BuiltinTypeInterfaces.td"
include "mlir/IR/EnumAttr.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def TileGraph_Dialect : Dialect {
  let name = "tg";
  let cppNamespace = "::weft::tg";
  let summary = "Tensor graphs whose ops say how tiles of their results depend on tiles of their operands";
  let description = [{
    TileGraph holds a model as SSA over ranked tensors, one op per mathematical meaning. There are three kinds of ops:

    * primitives: pointwise operators, `tg.reduce`, `tg.contract`, affine views, gather and scatter, scans, top-k;
    * composites (`tg.softmax`, `tg.layer_norm`, `tg.attention`, ...), which `--weft-normalize` rewrites to primitives;
    * structure: constants, weights by reference, symbol arithmetic, `tg.kernel` groups and `tg.dispatch` calls.

    **Element types.** f64, f32, f16, bf16; signed integers are signless (`i8` to `i64`), unsigned ones `ui8` to `ui64`; `i1` is
    boolean. 8-bit and narrower floats, `i4` and `ui4` (and `i2`, `ui2`) are storage-only: casts, views and weights accept them.

    **Symbolic extents.** The encoding `#tg.dims` of a tensor type gives each extent as an affine or semi-affine expression of
    the module's symbols (module attribute `tg.symbols`, an array of names). A `?` without an expression is invalid.

    **Broadcasting** of pointwise ops is numpy's: shapes align at the last dimension, and an extent of static 1 stretches.

    **Numerics.** Every op rounds its result once to its element type. f16 and bf16 are computed in f32. Reductions and
    contractions accumulate in f32 for f16, bf16 and f32, in f64 for f64, and modulo 2^n for integers; the order of accumulation is
    unspecified within what the op's licence allows (`fastmath` flags on contraction and reduction ops are none by default).
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::math::MathDialect"];
  let hasConstantMaterializer = 1;
  let useDefaultAttributePrinterParser = 1;
  let extraClassDeclaration = [{
    /// Bytes of weights by source name; filled by whoever read the model, read by folding and by the bundle writer.
    WeightStore &getWeightStore() { return *weightStore; }
    /// Name of the module attribute that lists symbol names.
    static constexpr ::llvm::StringLiteral symbolsAttrName = "tg.symbols";
  private:
    ::std::shared_ptr<WeightStore> weightStore;
    void registerAttributes();
    void registerOps();
  public:
  }];
}

def TG_ComputeElement : AnyTypeOf<[F64, F32, F16, BF16, I1, I8, I16, I32, I64, UI8, UI16, UI32, UI64],
                                  "element type that arithmetic is defined on">;
def TG_StorageElement : AnyTypeOf<[F8E4M3FN, F8E4M3FNUZ, F8E5M2, F8E5M2FNUZ, F8E8M0FNU, F4E2M1FN, I<2>, I<4>, UI<2>, UI<4>],
                                  "storage-only element type">;

/// Any tensor; storage-only element types included.
def TG_AnyTensor : RankedTensorOf<[TG_ComputeElement, TG_StorageElement]>;
/// A tensor that arithmetic is defined on.
def TG_Tensor : RankedTensorOf<[TG_ComputeElement]>;
def TG_FloatTensor : RankedTensorOf<[F64, F32, F16, BF16]>;
def TG_BoolTensor : RankedTensorOf<[I1]>;
def TG_IntTensor : RankedTensorOf<[I8, I16, I32, I64, UI8, UI16, UI32, UI64]>;
def TG_NumTensor : RankedTensorOf<[F64, F32, F16, BF16, I8, I16, I32, I64, UI8, UI16, UI32, UI64]>;
def TG_IndexTensor : RankedTensorOf<[I32, I64]>;

/// Every op of the dialect.
class TG_Op<string mnemonic, list<Trait> traits = []> : Op<TileGraph_Dialect, mnemonic, traits>;

/// An op whose result types follow from operands and attributes. `infer` is the body of `inferReturnTypes`, which sees `adaptor`,
/// `context`, `location` and `results` (a vector of Type) and returns a LogicalResult.
class TG_InferredOp<string mnemonic, list<Trait> traits, string infer> : TG_Op<mnemonic, !listconcat(traits, [
    InferTypeOpInterface])> {
  let extraClassDeclaration = [{
    static ::llvm::LogicalResult inferReturnTypes(::mlir::MLIRContext *context, ::std::optional<::mlir::Location> location,
        ::mlir::ValueRange operands, ::mlir::DictionaryAttr attributes, ::mlir::OpaqueProperties properties,
        ::mlir::RegionRange regions, ::llvm::SmallVectorImpl<::mlir::Type> &results);
  }];
  let extraClassDefinition = [{
    ::llvm::LogicalResult $cppClass::inferReturnTypes(::mlir::MLIRContext *context, ::std::optional<::mlir::Location> location,
        ::mlir::ValueRange operands, ::mlir::DictionaryAttr attributes, ::mlir::OpaqueProperties properties,
        ::mlir::RegionRange regions, ::llvm::SmallVectorImpl<::mlir::Type> &results) {
      Adaptor adaptor(operands, attributes, properties, regions);
      (void)adaptor;
      }] # infer # [{
    }
  }];
}

#endif // WEFT_DIALECT_TILEGRAPH_IR_TILEGRAPHBASE_TD
