import type { Device, Launch, Operand } from '../../device.ts';
import type { Attrs, AttrValue } from '../../kernel-op.ts';
import type { ListBody, ListItem } from '../../list-body.ts';
import { stageAttr } from '../../staged-body.ts';
import { launchAttrs } from '../../symbolic-attrs.ts';
import type { TensorMeta } from '../../tensor-meta.ts';
import { bindFlatList, type FlatItem } from '../pointwise/flat-list.ts';
import { flatPointwise } from '../pointwise/pointwise.ts';
import { flatFused } from './fused.ts';

/** The operands of one item, filled in at each launch. */
interface BoundItem {
  readonly item: ListItem;
  readonly launch: Launch;
  readonly inputs: Operand[];
  readonly outputs: Operand[];
  readonly own: Record<string, AttrValue>;
  readonly numbers: readonly (readonly [own: string, name: string])[];
}

/**
 * Binds a list of pointwise ops. If all ops have the same kernel and dense operands, it runs over the elements of each
 * in turn, and threads share all elements. Otherwise the items are launched one by one.
 */
export function list(
  { items, areAlike }: ListBody,
  inputs: readonly TensorMeta[],
  outputs: readonly TensorMeta[],
  attrs: Attrs,
  device: Device,
): Launch {
  const bound = items.map((item, part): BoundItem => {
    const numbers = [...launchAttrs(item.op)].map((name) => [name, stageAttr(part, name)] as const);
    const itemAttrs = Object.fromEntries(numbers.map(([name, from]) => [name, attrs[from]!]));
    const read = item.inputs.map((index) => inputs[index]!);
    const itemOutputs = item.outputs.map((index) => outputs[index]!);
    const targets = item.op.inPlace ? read.slice(0, 1) : itemOutputs;
    return {
      item,
      launch: device.prepare(item.op, read, targets, itemAttrs),
      inputs: new Array<Operand>(read.length),
      outputs: new Array<Operand>(targets.length),
      own: itemAttrs,
      numbers,
    };
  });
  const flat = areAlike ? flatList(bound, inputs, outputs) : null;
  return (sources, targets, now) => {
    for (const { item, inputs: read, outputs: made } of bound) {
      for (let i = 0; i < read.length; i++) read[i] = sources[item.inputs[i]!]!;
      if (item.op.inPlace) made[0] = read[0]!;
      else for (let i = 0; i < made.length; i++) made[i] = targets[item.outputs[i]!]!;
    }
    if (now) for (const each of bound) tell(each, now);
    const [first] = bound;
    if (flat?.(now ? first!.own : undefined)) return;
    for (const each of bound) each.launch(each.inputs, each.outputs, now ? each.own : undefined);
  };
}

function tell({ own, numbers }: BoundItem, now: Attrs): void {
  for (let i = 0; i < numbers.length; i++) own[numbers[i]![0]] = now[numbers[i]![1]]!;
}

/** Returns null unless the items have the same kernel and dense operands. */
function flatList(
  bound: readonly BoundItem[],
  inputs: readonly TensorMeta[],
  outputs: readonly TensorMeta[],
): ((now: Attrs | undefined) => boolean) | null {
  const items: FlatItem[] = [];
  for (const each of bound) {
    const flat = flatItem(each, inputs, outputs);
    if (!flat) return null;
    items.push(flat);
  }
  const [first] = items;
  if (!first || items.some(({ kernel }) => kernel !== first.kernel)) return null;
  return bindFlatList(items, bound[0]!.own);
}

function flatItem(
  { item, inputs: read, outputs: made, own }: BoundItem,
  inputs: readonly TensorMeta[],
  outputs: readonly TensorMeta[],
): FlatItem | null {
  const { kernel, inPlace } = item.op;
  const operands = item.inputs.map((index) => inputs[index]!);
  const results = item.outputs.map((index) => outputs[index]!);
  if (kernel.kind === 'fused') {
    const flat = flatFused(kernel.body, operands, results, own);
    return flat && { ...flat, inputs: read, outputs: made };
  }
  if (kernel.kind !== 'pointwise') return null;
  const flat = flatPointwise(kernel.expr, operands, inPlace ? operands[0]! : results[0]!);
  // This kernel's first operand is its output.
  return flat && { ...flat, inputs: made, outputs: read };
}
