import type { Attrs, AttrValue } from '../device/kernel-op.ts';
import type { TensorMeta } from '../device/tensor-meta.ts';
import type { UserPosition } from '../errors/position.ts';
import { isSymbolic, type ScalarTable } from '../ops/numbers/symbolic-number.ts';
import { fusedName } from '../program/fused/fused-op.ts';
import {
  type BackwardPart,
  hasControl,
  type Plan,
  type PlannedSubgraph,
  type Step,
} from '../program/plan.ts';
import type { ProgramOp } from '../program/program.ts';
import { scalarTableIn } from '../program/scalars.ts';
import { contiguousStrides, sameShape } from '../spec/shape.ts';
import { encodePrimitive } from './primitive.ts';

/** The device kinds that graphs are planned for; `meta` counts CPU memory. */
export const plannedFor = ['cpu', 'gpu'] as const;

type PlannedFor = (typeof plannedFor)[number];

/**
 * Encodes planned programs as JSON. A graph's regions precede it in the list, so no graph can contain itself; an op and
 * its backward refer to the same regions.
 */
export class GraphWriter {
  readonly graphs: unknown[] = [];
  readonly #known = new Map<PlannedSubgraph, number>();
  #plannedFor: PlannedFor = 'cpu';

  /** The kind of device that the graphs were planned for; `cpu` for graphs without values. */
  get plannedFor(): PlannedFor {
    return this.#plannedFor;
  }

  /** Returns the graph's index in the list. */
  add(planned: PlannedSubgraph): number {
    const known = this.#known.get(planned);
    if (known !== undefined) return known;
    const { values, forward, backward } = planned;
    if (values.some(({ device }) => device.kind === 'gpu')) this.#plannedFor = 'gpu';
    const scalars = scalarTableIn(planned);
    const graph = {
      values: values.map(encodeMeta),
      ...(scalars && { scalars: encodeScalars(scalars) }),
      forward: this.#plan(forward),
      ...(backward && { backward: this.#backward(backward) }),
    };
    const index = this.graphs.push(graph) - 1;
    this.#known.set(planned, index);
    return index;
  }

  #backward({
    plan,
    retainingPlan,
    saved,
    gradOutputs,
    leafOutputs,
    gradInputs,
    sums,
    arrivals,
  }: BackwardPart): unknown {
    return {
      plan: this.#plan(plan),
      retainingPlan: this.#plan(retainingPlan),
      withData: saved.withData,
      noNeedBuffer: saved.noNeedBuffer,
      gradOutputs,
      leafOutputs,
      gradInputs,
      sums,
      ...(arrivals.length > 0 && {
        arrivals: arrivals.map(({ target, outputs }) => [target, outputs]),
      }),
    };
  }

  #plan({ steps, predicted, ...rest }: Plan): unknown {
    const { peakBytes, lowerBoundBytes, savedBytes, outputBytes, copiedBytes } = predicted;
    const { mayExceed } = predicted;
    return {
      inputs: rest.inputs,
      steps: steps.map((step) => this.#step(step)),
      outputs: rest.outputs,
      unusedInputs: rest.unusedInputs,
      freesAtEnd: rest.freesAtEnd,
      arenaBytes: rest.arenaBytes,
      reordered: rest.reordered,
      predicted: [peakBytes, lowerBoundBytes, savedBytes, outputBytes, copiedBytes],
      ...(mayExceed && hasControl(steps) && { mayExceed }),
    };
  }

  #step({ op, reuses, frees, places, regions }: Step): unknown {
    const has = (list: readonly (number | null)[] | undefined) => list?.some((id) => id !== null);
    return {
      ...encodeOp(op),
      ...(has(reuses) && { reuses }),
      ...(frees.length > 0 && { frees }),
      ...(has(places) && { places }),
      ...(regions && { regions: regions.map((region) => this.add(region)) }),
    };
  }
}

/** A fused op is encoded as its parts, which determine its operands and numbers. */
function encodeOp({ op, inputs, outputs, attrs, again, at, parts }: ProgramOp): object {
  if (parts) return { op: fusedName, outputs, parts: parts.map(encodeOp) };
  return {
    op: op.name,
    inputs,
    outputs,
    ...(Object.keys(attrs).length > 0 && { attrs: encodeAttrs(attrs) }),
    ...(again !== undefined && { again }),
    ...(at && { at: shortPosition(at) }),
  };
}

function encodeMeta(meta: TensorMeta): unknown {
  const isUsual = sameShape(meta.strides, contiguousStrides(meta.shape));
  const strides = isUsual ? null : meta.strides;
  return [meta.dtype, meta.shape, strides, meta.offset];
}

/** Only the file's base name, so as not to reveal anything about the machine. */
function shortPosition({ file, line, column }: UserPosition): unknown {
  return [file.slice(Math.max(file.lastIndexOf('/'), file.lastIndexOf('\\')) + 1), line, column];
}

export function encodeAttrs(attrs: Attrs): Readonly<Record<string, unknown>> {
  return Object.fromEntries(
    Object.entries(attrs).map(([name, value]) => [name, encodeAttr(value)]),
  );
}

function encodeAttr(value: AttrValue): unknown {
  if (isSymbolic(value)) return { scalar: value.id };
  if (Array.isArray(value)) {
    return value.map((item: number) =>
      isSymbolic(item) ? { scalar: item.id } : encodePrimitive(item),
    );
  }
  return encodePrimitive(value as number | boolean | string);
}

export function encodeScalars({ nodes, values }: ScalarTable): unknown {
  return nodes.map((node, id) => {
    const value = encodePrimitive(values[id]!);
    if (node.kind === 'input') return { input: node.index, value };
    return node.kind === 'constant' ? { constant: value } : { fn: node.fn, args: node.args, value };
  });
}
