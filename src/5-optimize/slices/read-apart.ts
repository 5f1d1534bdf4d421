import { getOrInsert } from '../../../runtime/collections/get-or-insert.ts';
import { operandUse } from '../../../runtime/device/kernel-op.ts';
import { hasChangingAttrs } from '../../../runtime/device/symbolic-attrs.ts';
import { isContiguousMeta } from '../../../runtime/device/tensor-meta.ts';
import { opNamed } from '../../../runtime/ops/op-table.ts';
import type { Program, ProgramOp, ValueId } from '../../../runtime/program/program.ts';
import { withDerivedViews } from '../../../runtime/program/verify/view-metas.ts';
import { eliminateDeadCode } from '../cleanup/dead-code.ts';
import { ProgramFacts } from '../facts/program-facts.ts';
import { findRegion, type SlicePlan } from './region.ts';
import { writeSlices } from './write-slices.ts';

/** A matrix product whose rows separate ops read in equal parts. */
interface SplitProduct {
  readonly product: number;
  readonly plan: SlicePlan;
}

/**
 * Finds products that are computed as a whole and read part by part, such as the gates of all steps of a sequence: when
 * computed part by part, each part exists only until its last read.
 */
export function productsReadApart(program: Program): SplitProduct[] {
  const readers = readersOf(program);
  return program.ops.flatMap((op, index) => {
    if (op.op.name !== 'matmul' || program.values[op.inputs[0]!]!.shape.length !== 2) return [];
    const chain = new Set([index]);
    let at = op;
    for (;;) {
      const next = readers.get(at.outputs[0]!) ?? [];
      if (next.includes(theCaller)) return [];
      const parts = partsRead(
        program,
        at.outputs[0]!,
        next.map((reader) => program.ops[reader]!),
      );
      if (parts !== null) {
        const [a] = op.inputs as [ValueId];
        return [
          {
            product: index,
            plan: { parts, seeds: new Map([[a, 0]]), from: new Set([a]), only: chain },
          },
        ];
      }
      const [only] = next;
      if (next.length !== 1 || !isStep(program.ops[only!]!)) return [];
      chain.add(only!);
      at = program.ops[only!]!;
    }
  });
}

/** Computes the chain's ops in parts, and drops the whole values that these replace. Null if that's impossible. */
export function slicedApart(program: Program, plan: SlicePlan): Program | null {
  const region = findRegion(program, plan);
  if (!region || region.slicings.size !== plan.only?.size) return null;
  const sliced = writeSlices(program, region, plan.parts);
  return sliced && withoutWholes(sliced);
}

function isStep({ op, outputs }: ProgramOp): boolean {
  const { kind } = op.kernel;
  return outputs.length === 1 && !op.inPlace && (kind === 'pointwise' || op.name === 'reshape');
}

/** Returns the number of equal parts along dimension 0 in which a value is read; null if it is read otherwise. */
function partsRead({ values }: Program, id: ValueId, readers: readonly ProgramOp[]): number | null {
  const size = values[id]!.shape[0]!;
  const lengths = new Set<number>();
  for (const { op, attrs, inputs } of readers) {
    if (op.name !== 'narrow' || inputs[0] !== id || attrs.dim !== 0) return null;
    if (hasChangingAttrs(attrs)) return null;
    const [start, length] = [attrs.start as number, attrs.length as number];
    if (start % length !== 0) return null;
    lengths.add(length);
  }
  const [length] = lengths;
  if (lengths.size !== 1 || size % length! !== 0 || size / length! < 2) return null;
  return size / length!;
}

/** Represents the program's caller in a list of readers. */
const theCaller = -1;

/** Returns the ops that read the data of each value. */
function readersOf({ ops, outputs }: Program): ReadonlyMap<ValueId, readonly number[]> {
  const readers = new Map<ValueId, number[]>();
  const add = (id: ValueId, index: number) => {
    getOrInsert(readers, id, () => []).push(index);
  };
  ops.forEach(({ op, inputs }, index) => {
    inputs.forEach((id, i) => {
      if (operandUse(op, i) === 'data') add(id, index);
    });
  });
  for (const id of outputs) add(id, theCaller);
  return readers;
}

/**
 * Where ops read one part of a concatenation of equal parts, makes them read the part itself. A concatenation that the
 * program writes or returns, or whose parts are written, keeps its own memory.
 */
function withoutWholes(program: Program): Program {
  const facts = ProgramFacts.of(program);
  const outputs = new Set(program.outputs.map((id) => facts.rootOf(id)));
  const isFixed = (id: ValueId) => !facts.isWritten(id) && !outputs.has(facts.rootOf(id));
  const ops = program.ops.map((op): ProgramOp => {
    const [view] = op.outputs;
    const isRead = op.op.name === 'narrow' && !hasChangingAttrs(op.attrs);
    const part = isRead && isFixed(op.inputs[0]!) ? partAt(facts, op) : undefined;
    if (part === undefined || facts.isWritten(part)) return op;
    // Readers may be views that depend on strides.
    const [own, shown] = [program.values[part]!, program.values[view!]!];
    const isLike = own.dtype === shown.dtype && isContiguousMeta(own) && isContiguousMeta(shown);
    if (!isLike) return op;
    const { shape } = shown;
    return { ...op, op: opNamed('reshape'), inputs: [part], attrs: { shape } };
  });
  return withDerivedViews({ ...program, ops: eliminateDeadCode(ops, program.outputs) });
}

/** Returns the operand of a `cat` that a `narrow` of its result selects, if all operands have one size. */
function partAt(facts: ProgramFacts, { inputs, attrs }: ProgramOp): ValueId | undefined {
  const cat = facts.definitionOf(inputs[0]!);
  const { dim, start, length } = attrs as Readonly<Record<string, number>>;
  if (cat?.op.name !== 'cat' || cat.attrs.dim !== dim) return undefined;
  const sizes = cat.attrs.sizes as readonly number[];
  return sizes.every((size) => size === length) ? cat.inputs[start! / length!] : undefined;
}
