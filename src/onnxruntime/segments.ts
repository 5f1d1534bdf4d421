import { isSymbolic } from '../../runtime/ops/numbers/symbolic-number.ts';
import { unfusedOps } from '../../runtime/program/fused/unfused.ts';
import { ValueGroups } from '../../runtime/program/memory-groups.ts';
import type { Plan, Step } from '../../runtime/program/plan.ts';
import type { Program, ProgramOp, ValueId } from '../../runtime/program/program.ts';
import { writtenOperands } from '../../runtime/program/writes.ts';
import { isMapped } from '../export/onnx/mapping.ts';

/** Dtypes for which both sides have arrays. */
const elements = new Set(['float32', 'float64', 'int32', 'uint8', 'bool']);

/** Returns why a step is run by its kernel; null if it may be part of a graph. */
export function reasonForKernel(
  { op }: Step,
  { values }: Pick<Program, 'values'>,
  isComputable: boolean,
): string | null {
  const { kernel } = op.op;
  if (kernel.kind === 'control') return 'branches and loops: their bodies are programs themselves';
  if (kernel.kind === 'transfer') return 'transfers between devices';
  const isView = kernel.kind === 'view';
  if (!isView && !isComputable) return 'gradients that may be missing';
  for (const id of [...op.inputs, ...op.outputs]) {
    const { dtype, shape } = values[id]!;
    if (!elements.has(dtype)) return `elements of ${dtype}`;
    if (shape.includes(0)) return 'tensors without elements';
  }
  const changing = Object.values(op.attrs).filter((value) => typeof value === 'object');
  if (changing.some((value) => Array.isArray(value) && value.some(isSymbolic))) {
    return 'sizes that each run computes';
  }
  if (isView && Object.values(op.attrs).some(isSymbolic)) return 'sizes that each run computes';
  const missing = unfusedOps([op]).find(
    (part) => part.op.kernel.kind !== 'view' && !isMapped(part.op),
  );
  return missing ? `${missing.op.name} has no form in ONNX` : null;
}

export const isView = ({ op }: Step): boolean => op.op.kernel.kind === 'view';

/** Whether a number of the step is computed in each run. */
const hasNumbers = ({ op }: Step): boolean => Object.values(op.attrs).some(isSymbolic);

/**
 * Consecutive steps that become one graph, from the first to the last one that computes something. A step that reads
 * numbers of the run starts a segment: they must be known by then.
 */
export interface Segment {
  readonly first: number;
  readonly last: number;
}

/**
 * Splits the steps into segments. A graph reads operands as they were before it: if it writes one of them and another
 * shares that tensor's memory, the step that reads the other starts the next graph.
 */
export function segmentsOf(steps: readonly Step[], isKernel: (step: number) => boolean): Segment[] {
  const segments: Segment[] = [];
  const groups = new ValueGroups(
    steps.map(({ op }) => op),
    'memory',
  );
  let open: { first: number; last: number } | null = null;
  /** For each view, the operand or result of the graph that it views. */
  let roots = new Map<ValueId, ValueId>();
  /** For each memory, the value through which it was written. */
  let writers = new Map<ValueId, ValueId>();
  const rootOf = (id: ValueId) => roots.get(id) ?? id;
  const isStale = (id: ValueId) => (writers.get(groups.of(id)) ?? rootOf(id)) !== rootOf(id);
  steps.forEach((step, i) => {
    const { op } = step;
    if (isKernel(i)) open = null;
    else if (isView(step)) roots.set(op.outputs[0]!, rootOf(op.inputs[0]!));
    else {
      if (!open || hasNumbers(step) || op.inputs.some(isStale)) {
        open = { first: i, last: i };
        segments.push(open);
        [roots, writers] = [new Map(), new Map()];
      }
      open.last = i;
      for (const index of writtenOperands(op)) {
        const id = op.inputs[index]!;
        writers.set(groups.of(id), rootOf(id));
      }
    }
  });
  return segments;
}

/** One result of a graph: where it is stored, and after which step. */
export interface Store {
  readonly step: number;
  readonly id: ValueId;
}

interface SegmentValues {
  /** Earlier values whose elements the graph reads. */
  readonly inputs: readonly ValueId[];
  /** Results that are read outside the segment, in step order. */
  readonly stores: readonly Store[];
}

/** The operands and results of a graph. */
export function valuesOf(plan: Plan, { first, last }: Segment): SegmentValues {
  const steps = plan.steps.slice(first, last + 1);
  const ops = steps.map(({ op }) => op);
  const defined = new Set(ops.flatMap(({ outputs }) => outputs));
  const inputs = new Set(ops.flatMap((op) => op.inputs.filter((id) => !defined.has(id))));
  const groups = new ValueGroups(ops, 'memory');
  const dying = new Set(steps.flatMap(({ frees }) => frees));
  // Memory that is visible after the segment, under any name.
  const seen = new Set(
    [...defined, ...inputs].flatMap((id) =>
      dying.has(id) && defined.has(id) ? [] : [groups.of(id)],
    ),
  );
  const stores = ops.flatMap((op, i) =>
    storedBy(op)
      .filter((id) => seen.has(groups.of(id)))
      .map((id) => ({ step: first + i, id })),
  );
  // Only the graph reads its intermediate values: of several writes to one tensor, the last one counts.
  const tensors = new ValueGroups(ops, 'tensor');
  const final = new Map(stores.map((store) => [tensors.of(store.id), store] as const));
  const isFinal = (store: Store) => final.get(tensors.of(store.id)) === store;
  return { inputs: [...inputs], stores: stores.filter(isFinal) };
}

function storedBy(op: ProgramOp): readonly ValueId[] {
  if (op.op.kernel.kind === 'view') return [];
  const written = writtenOperands(op).map((index) => op.inputs[index]!);
  return op.op.inPlace ? written : [...op.outputs, ...written];
}
