// Shared memory, channels and roles: what Schedule adds.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_DIALECT_TILEKERNEL_IR_ASYNCOPS_TD
#define WEFT_DIALECT_TILEKERNEL_IR_ASYNCOPS_TD

include "weft/Dialect/TileKernel/IR/TileKernelEnums.td"
include "weft/Dialect/TileKernel/IR/TileOps.td"

def TK_CopyEngineAttr : EnumAttr<TileKernel_Dialect, TK_CopyEngine, "engine"> { let assemblyFormat = "$value"; }

def TK_AllocOp : TK_Op<"alloc", [MemoryEffects<[MemAlloc]>]> {
  let summary = "a buffer in shared memory";
  let description = [{
    `offset`, in bytes from the CTA's dynamic shared memory, is set by the allocation pass.

    ```mlir
    %b = tk.alloc : !tk.shared<4 x 128x64xf16>
    ```
  }];
  let arguments = (ins OptionalAttr<I64Attr>:$offset);
  let results = (outs TK_SharedType:$result);
  let assemblyFormat = "(`at` $offset^)? attr-dict `:` type($result)";
}

def TK_SlotOp : TK_Op<"slot", [Pure]> {
  let summary = "one slot of a buffer, or several that follow each other";
  let description = [{
    A buffer may be filled `each` slots at a time; then it is slot number `from` of the i-th so many. A result that is longer along one dimension
    is as many slots, one behind the other along it: they must lie so in its layout, too. Results may overlap (rows of an image that
    the places of a window have in common), and end behind the buffer's slots, where they are columns of a `tk.dot` that are not live: more
    than half of a result is there.

    ```mlir
    %s = tk.slot %b[%i] : !tk.shared<4 x 128x64xf16> -> !tk.shared<1 x 128x64xf16>
    %w = tk.slot %b[%i] each 6 from 1 : !tk.shared<18 x 64x32xf16> -> !tk.shared<1 x 64x128xf16>
    ```
  }];
  let arguments = (ins TK_SharedType:$buffer, Index:$slot, DefaultValuedAttr<I64Attr, "1">:$each, DefaultValuedAttr<I64Attr, "0">:$from);
  let results = (outs TK_SharedType:$result);
  let extraClassDeclaration = [{
    /// Slots of the buffer that the result has.
    int64_t countSlots();
  }];
  let assemblyFormat = "$buffer `[` $slot `]` (`each` $each^)? (`from` $from^)? attr-dict `:` type($buffer) `->` type($result)";
  let hasVerifier = 1;
}

def TK_LocalLoadOp : TK_Op<"local_load", [MemoryEffects<[MemRead]>]> {
  let summary = "a tile of shared memory to registers";
  let description = [{
    The part of the buffer from `offsets` on (in elements, multiples of the tile's extents; none: from its start) with the tile's extents.

    ```mlir
    %t = tk.local_load %s offsets [0, 16] : !tk.shared<1 x 128x64xf16> -> !tk.tile<128x16xf16>
    ```
  }];
  let arguments = (ins TK_SharedType:$buffer, OptionalAttr<DenseI64ArrayAttr>:$offsets);
  let results = (outs TK_TileType:$result);
  let assemblyFormat = "$buffer (`offsets` $offsets^)? attr-dict `:` type($buffer) `->` type($result)";
  let hasVerifier = 1;
}

def TK_LocalStoreOp : TK_Op<"local_store", [MemoryEffects<[MemWrite]>]> {
  let summary = "a register tile to shared memory";
  let description = [{
    ```mlir
    tk.local_store %t, %s : !tk.tile<128x64xf16>, !tk.shared<1 x 128x64xf16>
    ```
  }];
  let arguments = (ins TK_TileType:$value, TK_SharedType:$buffer);
  let assemblyFormat = "$value `,` $buffer attr-dict `:` type($value) `,` type($buffer)";
  let hasVerifier = 1;
}

def TK_CopyOp : TK_Op<"copy", [AttrSizedOperandSegments, MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "starts an asynchronous copy of a tile from global to shared memory";
  let description = [{
    As `tk.load` without index tiles; places outside the guard become zero. The data are there when the channel's `tk.wait` of the same iteration has
    returned. With engine tma the map is a box of the tensor, its guard the tensor's bounds, and one thread issues it.

    ```mlir
    tk.copy %x[%i, %k] map affine_map<...>, %s engine cp_async : !tk.global<tensor<1024x768xf16>>, !tk.shared<1 x 128x64xf16>
    ```

    `live` (tma): of each tile dimension the indices that are copied, from the first one on. Nobody reads the others, and what of them lies behind
    the slot's pitch has no memory.
  }];
  let arguments = (ins TK_GlobalType:$source, Variadic<Index>:$symbols, TK_SharedType:$target, Optional<TK_ChannelType>:$channel, Optional<Index>:$iteration,
                       AffineMapAttr:$map, OptionalAttr<TK_GuardAttr>:$guard, TK_CopyEngineAttr:$engine, OptionalAttr<DenseI64ArrayAttr>:$live);
  let assemblyFormat = [{$source (`[` $symbols^ `]`)? `map` $map (`guard` $guard^)? `,` $target (`channel` $channel^ `[` $iteration `]` `:` type($channel))? `engine` $engine attr-dict
                         `:` type($source) `,` type($target)}];
  let hasVerifier = 1;
}

def TK_MakeChannelOp : TK_Op<"make_channel", [MemoryEffects<[MemAlloc]>]> {
  let summary = "a channel";
  let description = [{
    `engine` tells how arrival is known: cp_async by groups of the threads that copy and a barrier of the CTA, tma by mbarriers.
    `consumers` is the number of arrivals that free a slot (tma), `bytes` what one iteration's copies bring. `offset` is the place of the mbarriers in
    dynamic shared memory, set by the allocation pass.

    ```mlir
    %c = tk.make_channel engine tma consumers 8 bytes 49152 : !tk.channel<4>
    ```
  }];
  let arguments = (ins TK_CopyEngineAttr:$engine, I64Attr:$consumers, I64Attr:$bytes, OptionalAttr<I64Attr>:$offset);
  let results = (outs TK_ChannelType:$result);
  let assemblyFormat = "`engine` $engine `consumers` $consumers `bytes` $bytes (`at` $offset^)? attr-dict `:` type($result)";
}

class TK_ChannelOp<string mnemonic, string summary_, string text> : TK_Op<mnemonic, [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = summary_;
  let description = text # [{

    ```mlir
    tk.}] # mnemonic # [{ %c[%i] : !tk.channel<4>
    ```
  }];
  let arguments = (ins TK_ChannelType:$channel, Index:$iteration);
  let assemblyFormat = "$channel `[` $iteration `]` attr-dict `:` type($channel)";
}
def TK_AcquireOp : TK_ChannelOp<"acquire", "waits until the slot of an iteration is free for the producer", [{
    With cp_async it is nothing: program order and the barrier of `tk.wait` keep a slot until it may be overwritten.}]>;
def TK_CommitOp : TK_ChannelOp<"commit", "ends the producer's copies of an iteration", [{
    cp_async: closes the group. tma: nothing, the copies' bytes complete the barrier.}]>;
def TK_ReleaseOp : TK_ChannelOp<"release", "gives the slot of an iteration back to the producer", [{
    tma: arrival at the slot's empty barrier, by one thread of each consumer warp or warpgroup. cp_async: nothing.}]>;

def TK_DrainOp : TK_ChannelOp<"drain", "waits until all slots of a channel are free", [{
    By the producer, with the number of the iteration behind its last one: every copy has arrived, and every consumer has given its slot back. Where a
    channel's copies go to all CTAs of a cluster, no other CTA arrives at this one's barriers any more, so its shared memory may go.}]>;

def TK_CursorOp : TK_Op<"cursor", [MemoryEffects<[MemRead]>]> {
  let summary = "the iteration at which the caller's role is on a channel";
  let description = [{
    Every role has a cursor of its own on every channel; it starts at 0 with the role and `tk.advance` moves it. So iterations go on from tile to tile
    of a persistent CTA, whatever number of them a tile takes.

    ```mlir
    %i = tk.cursor %c : !tk.channel<4>
    ```
  }];
  let arguments = (ins TK_ChannelType:$channel);
  let results = (outs Index:$result);
  let assemblyFormat = "$channel attr-dict `:` type($channel)";
}

def TK_AdvanceOp : TK_Op<"advance", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "moves the role's cursor on a channel";
  let description = [{
    ```mlir
    tk.advance %c by %n : !tk.channel<4>
    ```
  }];
  let arguments = (ins TK_ChannelType:$channel, Index:$count);
  let assemblyFormat = "$channel `by` $count attr-dict `:` type($channel)";
}

def TK_WaitOp : TK_Op<"wait", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "waits for the data of an iteration";
  let description = [{
    After it all copies of the iteration are visible to the caller. With cp_async, `pending` groups may still be under way (those of later
    iterations), and the whole CTA passes a barrier.

    ```mlir
    tk.wait %c[%i] pending 2 : !tk.channel<4>
    ```
  }];
  let arguments = (ins TK_ChannelType:$channel, Index:$iteration, DefaultValuedAttr<I64Attr, "0">:$pending);
  let assemblyFormat = "$channel `[` $iteration `]` (`pending` $pending^)? attr-dict `:` type($channel)";
}

def TK_DotWaitOp : TK_Op<"dot_wait", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "waits until at most `pending` asynchronous dots (wgmma groups) are under way";
  let description = [{
    The results are the operands, ready when `pending` is 0; ties them, so that nothing reads an accumulator too early.

    ```mlir
    %r = tk.dot_wait %acc pending 1 : (!tk.tile<64x256xf32>) -> !tk.tile<64x256xf32>
    ```
  }];
  let arguments = (ins Variadic<TK_TileType>:$values, I64Attr:$pending);
  let results = (outs Variadic<TK_TileType>:$results);
  let assemblyFormat = "$values `pending` $pending attr-dict `:` functional-type($values, $results)";
  let builders = [OpBuilder<(ins "::mlir::ValueRange":$values, "int64_t":$pending), [{
    build($_builder, $_state, values.getTypes(), values, pending);
  }]>];
}

def TK_ClusterRankOp : TK_Op<"cluster_rank", [Pure]> {
  let summary = "the number of the CTA in its cluster";
  let description = [{
    The CTAs of a cluster (`tk.cluster` of the kernel says how many) compute the same tile.

    ```mlir
    %r = tk.cluster_rank
    ```
  }];
  let results = (outs Index:$result);
  let assemblyFormat = "attr-dict";
  let builders = [OpBuilder<(ins), "build($_builder, $_state, $_builder.getIndexType());">];
}

def TK_ClusterSumOp : TK_Op<"cluster_sum", [AllTypesMatch<["value", "result"]>, MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "the sum of a tile over the CTAs of the cluster, each CTA's share in its registers";
  let description = [{
    CTA r of s has the sums of the r-th of s equal parts of every thread's registers; its others hold partial sums,
    which nobody reads (`tk.store_box` with the CTA's share leaves them out). Parts go through distributed shared memory to `buffer` of the CTA that adds them, in the
    order of the CTAs. Nobody uses `buffer` any more when all warps of the role are here: copies to it have been waited for.
    Its bytes: those of the tile in f32, times (CTAs - 1) / CTAs; they complete the phase of `channel` that `tk.cluster_open` began. Each warp of each CTA
    gives the channel's slot back, to all CTAs, when it is here: sends wait for all of them.

    ```mlir
    %s = tk.cluster_sum %acc through %b on %c : !tk.tile<128x256xf32>, !tk.shared<4 x 64x256xbf16>, !tk.channel<1>
    ```
  }];
  let arguments = (ins TK_TileType:$value, TK_SharedType:$buffer, TK_ChannelType:$channel);
  let results = (outs TK_TileType:$result);
  let assemblyFormat = "$value `through` $buffer `on` $channel attr-dict `:` type($value) `,` type($buffer) `,` type($channel)";
}

def TK_ClusterOpenOp : TK_Op<"cluster_open", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "from here on the other CTAs of the cluster may write to a buffer";
  let description = [{
    Each thread of the kernel passes it once, ahead of the loop over tiles: an arrival at the cluster's barrier, for which `tk.cluster_send` and
    `tk.cluster_sum` wait, and roles without them at their end. `channel` has one slot, whose only iteration is what the other CTAs will send, so many bytes.
    Where the target has no clusters there is none: the op then keeps the buffer's place.

    ```mlir
    tk.cluster_open %b on %c : !tk.shared<4 x 4x32xf32>, !tk.channel<1>
    ```
  }];
  let arguments = (ins TK_SharedType:$buffer, Optional<TK_ChannelType>:$channel);
  let assemblyFormat = "$buffer (`on` $channel^)? attr-dict `:` type($buffer) (`,` type($channel)^)?";
}

def TK_ClusterSendOp : TK_Op<"cluster_send", [AttrSizedOperandSegments, MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "the rows of tiles to the CTAs of the cluster, each its share";
  let description = [{
    CTA r of s gets the r-th of s equal parts of the rows of each tile (all are of one type), and finds in slot i * s + c of `buffer` what CTA c sent it of
    tile i when the op is over: it waits for the bytes of all of them, which complete the phase of `channel` that `tk.cluster_open` began. The slots hold their places one after
    the other. Where the target has no clusters there is no channel: the CTAs are neighbours in the
    launch and the rows pass through a variable of the module; the op then says how many tiles the launch has (`tk.tiles`, from weft-tk-split-steps).

    ```mlir
    tk.cluster_send %acc to %b on %c : !tk.tile<16x32xf32> to !tk.shared<4 x 4x32xf32> on !tk.channel<1>
    ```
  }];
  let arguments = (ins Variadic<TK_TileType>:$values, TK_SharedType:$buffer, Optional<TK_ChannelType>:$channel);
  let assemblyFormat = "$values `to` $buffer (`on` $channel^)? attr-dict `:` type($values) `to` type($buffer) (`on` type($channel)^)?";
  let hasVerifier = 1;
}

def TK_StoreBoxOp : TK_Op<"store_box", [AttrSizedOperandSegments, MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "a register tile to a box of a tensor, through shared memory and by TMA";
  let description = [{
    target[map(d)[symbols]] becomes value[d] inside the tensor's bounds. The tile is an accumulator of wgmma (or has its layout): each warpgroup passes blocks
    of 64 rows and one line of 32, 64 or 128 bytes through slots of `buffer`, in turn, and the copies from there are under way when the op is over; the end of the kernel
    waits for them. `buffer` has the same number of slots for each warpgroup of the role. A CTA that has number `share` of `shares` stores its blocks only, as many
    as each other one or one more (see `tk.cluster_sum`, `tk.part_sum`); one whose `share` is `shares` stores all. Columns from `live_columns` on, whole lines, are not stored.

    ```mlir
    tk.store_box %t, %y[%i, %j] map affine_map<(d0, d1)[s0, s1] -> (s0 * 128 + d0, s1 * 256 + d1)> through %b
        : !tk.tile<128x256xf16>, !tk.global<tensor<1024x768xf16>>, !tk.shared<4 x 64x64xf16>
    ```
  }];
  let arguments = (ins TK_TileType:$value, TK_GlobalType:$target, Variadic<Index>:$symbols, TK_SharedType:$buffer, Optional<Index>:$share, AffineMapAttr:$map,
                       OptionalAttr<I64Attr>:$shares, OptionalAttr<I64Attr>:$live_columns);
  let assemblyFormat = [{$value `,` $target (`[` $symbols^ `]`)? `map` $map `through` $buffer (`share` $share^ `of` $shares)? attr-dict
                         `:` type($value) `,` type($target) `,` type($buffer)}];
  let hasVerifier = 1;
}

def TK_BarrierOp : TK_Op<"barrier", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "all threads of the CTA, or of the role, meet; their shared memory accesses are ordered";
  let description = [{
    ```mlir
    tk.barrier
    ```
  }];
  let assemblyFormat = "attr-dict";
}

def TK_FenceAsyncOp : TK_Op<"fence_async", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "orders generic writes of shared memory before reads by the async proxy (TMA, wgmma)";
  let description = [{
    ```mlir
    tk.fence_async
    ```
  }];
  let assemblyFormat = "attr-dict";
}

def TK_TakeTurnOp : TK_Op<"take_turn", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "waits until the warpgroup before this one has passed the turn";
  let description = [{
    The warpgroups of a role take turns in the order of their numbers, round and round. Turns order when warpgroups issue what stands between
    `tk.take_turn` and `tk.pass_turn`, no accesses of memory. All of them take and pass equally many; the role begins with `tk.pass_turn last`, which
    gives the first warpgroup its first turn, and ends with `tk.take_turn first`, which takes the one that is left.

    ```mlir
    tk.take_turn
    ```
  }];
  let arguments = (ins UnitAttr:$first);
  let assemblyFormat = "(`first` $first^)? attr-dict";
}

def TK_PassTurnOp : TK_Op<"pass_turn", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "lets the next warpgroup of the role have its turn";
  let description = [{
    See `tk.take_turn`. With `last` only the last warpgroup does so.

    ```mlir
    tk.pass_turn
    ```
  }];
  let arguments = (ins UnitAttr:$last);
  let assemblyFormat = "(`last` $last^)? attr-dict";
}

def TK_RolesOp : TK_Op<"roles", [RecursiveMemoryEffects]> {
  let summary = "different warps do different work at the same time";
  let description = [{
    Region i runs on `warps[i]` warps (a multiple of 4), those after the earlier regions', with at most `registers[i]` registers a thread (setmaxnreg). With 256 registers in
    each region threads keep what the CTA starts with, and `warps` may be any. Register tiles inside a region are spread over its warps. Regions share shared memory and channels only, and end with `tk.yield`.

    ```mlir
    tk.roles warps [4, 8] registers [40, 232] { ... tk.yield }, { ... tk.yield }
    ```
  }];
  let arguments = (ins DenseI64ArrayAttr:$warps, DenseI64ArrayAttr:$registers);
  let regions = (region VariadicRegion<SizedRegion<1>>:$roles);
  let assemblyFormat = "`warps` $warps `registers` $registers $roles attr-dict";
  let hasVerifier = 1;
}

#endif // WEFT_DIALECT_TILEKERNEL_IR_ASYNCOPS_TD
