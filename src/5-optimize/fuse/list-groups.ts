import { isContiguousMeta } from '../../../runtime/device/tensor-meta.ts';
import { areApart, structuralKeyOf } from '../../../runtime/program/fused/list-op.ts';
import { ValueGroups } from '../../../runtime/program/memory-groups.ts';
import type { Program, ProgramOp, ValueId, ValueTable } from '../../../runtime/program/program.ts';
import { writtenOperands } from '../../../runtime/program/writes.ts';
import { sameShape } from '../../../runtime/spec/shape.ts';
import type { Group, GroupOptions } from './groups.ts';

/** The most ops in one launch. */
const mostParts = 512;

interface OpenList {
  readonly likeness: string;
  readonly ops: number[];
  readonly touched: Set<ValueId>;
  readonly written: Set<ValueId>;
}

/**
 * Finds groups of in-place writes with one structure, on separate operands, such as the updates of all parameters. Each
 * may run at the position of the last one: no op in between reads what they write, or writes what they read.
 */
export function listGroups(program: Program, options: GroupOptions): Group[] {
  const { ops, values } = program;
  const memory = new ValueGroups(ops, 'memory');
  const groups: number[][] = [];
  const open = new Map<string, OpenList>();
  const close = (list: OpenList): void => {
    open.delete(list.likeness);
    if (list.ops.length > 1) groups.push(list.ops);
  };
  ops.forEach((op, index) => {
    const { touched, written } = accessesOf(op, memory);
    const isPart = isUpdate(op, program, options);
    for (const list of [...open.values()]) {
      const meets =
        touched.some((each) => list.written.has(each)) ||
        written.some((each) => list.touched.has(each));
      if (meets || isBarrier(op) || (options.adjacent && !isPart && !isView(op))) close(list);
    }
    if (!isPart) return;
    const likeness = structuralKeyOf(op, values);
    const known = open.get(likeness);
    if (known && known.ops.length >= mostParts) close(known);
    const list = open.get(likeness) ?? {
      likeness,
      ops: [],
      touched: new Set<ValueId>(),
      written: new Set<ValueId>(),
    };
    open.set(likeness, list);
    list.ops.push(index);
    for (const each of touched) list.touched.add(each);
    for (const each of written) list.written.add(each);
  });
  for (const list of [...open.values()]) close(list);
  return groups.filter((group) => areApart(group.map((index) => ops[index]!)));
}

const isView = ({ op }: ProgramOp): boolean => op.kernel.kind === 'view';

/** Whether writes can't be moved across the op, because its effect is observable or it may throw. */
function isBarrier({ op }: ProgramOp): boolean {
  const isFused = op.kernel.kind === 'fused' || op.kernel.kind === 'staged';
  return op.kernel.kind === 'control' || op.mayRefuse === true || (!isFused && op.effect === true);
}

/** Whether the op is a pointwise op, or several fused ones, that writes in place, on dense operands. */
function isUpdate(programOp: ProgramOp, { values }: Program, options: GroupOptions): boolean {
  const { op, inputs, outputs } = programOp;
  const { kernel } = op;
  const isFused = kernel.kind === 'fused' && kernel.body.writes.length > 0;
  if (!isFused && !isSingleUpdate(programOp, values)) return false;
  return [...inputs, ...outputs].every((id) => {
    const isPlain = !options.fixed.has(id) && options.sourcesOf(id) === 0n;
    return isPlain && isContiguousMeta(values[id]!);
  });
}

/**
 * Whether the op is a single pointwise in-place write over operands of one shape, such as an SGD update, on a
 * device that fuses.
 */
function isSingleUpdate(programOp: ProgramOp, values: ValueTable): boolean {
  const { op, inputs, outputs, before, call, regions } = programOp;
  if (!op.inPlace || op.kernel.kind !== 'pointwise' || outputs.length > 0) return false;
  if (before !== undefined || call || regions || op.mayRefuse || op.target) return false;
  const { device, shape } = values[inputs[0]!]!;
  if (!device.fusesPointwise) return false;
  return inputs.every((id) => {
    const meta = values[id]!;
    return meta.device === device && sameShape(meta.shape, shape);
  });
}

/** Returns the memories that the op reads or writes. */
function accessesOf(op: ProgramOp, memory: ValueGroups) {
  const of = (ids: readonly ValueId[]) => ids.map((id) => memory.of(id));
  const read = op.before === undefined ? op.inputs : [...op.inputs, op.before];
  if (isView(op)) return { touched: of(op.inputs), written: [] };
  const written = of([...op.outputs, ...writtenOperands(op).map((i) => op.inputs[i]!)]);
  return { touched: [...of(read), ...written], written };
}
