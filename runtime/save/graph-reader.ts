import type { Device } from '../device/device.ts';
import { mayOverwrite } from '../device/kernel-op.ts';
import { symbolicAttrs } from '../device/symbolic-attrs.ts';
import type { TensorMeta } from '../device/tensor-meta.ts';
import type { UserPosition } from '../errors/position.ts';
import { coreOps } from '../ops/families/core.ts';
import type { ScalarTable } from '../ops/numbers/symbolic-number.ts';
import { type OpRecord, opsIn } from '../ops/record/define-op.ts';
import { aliasOp } from '../program/alias-op.ts';
import { controlOps } from '../program/control-ops.ts';
import { runsFused } from '../program/fused/fits-device.ts';
import { exprOf, fusedName } from '../program/fused/fused-op.ts';
import { oneOp } from '../program/fused/staged-op.ts';
import { areTiled } from '../program/fused/tiled-parts.ts';
import { unfusedSteps } from '../program/fused/unfused.ts';
import { nameGradientOp } from '../program/optional-gradients.ts';
import { outputGradientOp } from '../program/output-gradient-op.ts';
import {
  type BackwardPart,
  hasControl,
  type Plan,
  type PlannedSubgraph,
  peakLimits,
  type Step,
} from '../program/plan.ts';
import type { GradientContribution, ProgramOp, Region, ValueId } from '../program/program.ts';
import { contiguousStrides } from '../spec/shape.ts';
import { attrReader, type ReadAttrs, readScalars } from './attr-reader.ts';
import type { Field } from './file/field.ts';
import { dtypeNames, maxRank } from './tensors.ts';

const safe = Number.MAX_SAFE_INTEGER;

/** The nesting limit of regions, whose binding and execution are recursive. The tracer nests up to 64 decisions. */
const maxRegionLevels = 200;
/** A row-by-row op may contain fused ops as parts. */
const mostFusedLevels = 2;

/**
 * How plans from a file are used: as saved, or without facts that are specific to the kind of device they were planned
 * for. The order of ops and the frees are always valid. On another kind, values have their own blocks, and a result
 * reuses an operand's memory only if the kernel allows it.
 */
export type PlanUse = 'as saved' | 'for any device';

/** A graph from a file, and its scalar inputs. */
export interface ReadGraph {
  readonly planned: PlannedSubgraph;
  /** The graph as the region of an op; ops that share the graph share the region. */
  readonly region: Region;
  /** The nesting depth, including this graph. */
  readonly levels: number;
  /** The number of JavaScript numbers that a run receives. */
  readonly scalarInputs: number;
}

/**
 * Reads planned programs from JSON, for a device. Every name, number and reference is validated; `verifySubgraph`
 * verifies their consistency.
 */
export function readGraphs(field: Field, device: Device, plan: PlanUse): ReadGraph[] {
  const graphs: ReadGraph[] = [];
  for (const each of field.items()) graphs.push(new GraphReader(each, device, plan, graphs).read());
  return graphs;
}

class GraphReader {
  readonly #field: Field;
  readonly #values: readonly TensorMeta[];
  readonly #scalars: ScalarTable | null;
  readonly #attrs: ReadAttrs;
  readonly #earlier: readonly ReadGraph[];
  readonly #device: Device;
  readonly #isPortable: boolean;
  #levels = 1;

  constructor(field: Field, device: Device, plan: PlanUse, earlier: readonly ReadGraph[]) {
    this.#field = field;
    this.#device = device;
    this.#isPortable = plan === 'for any device';
    this.#earlier = earlier;
    this.#values = field.list('values', (value) => readMeta(value, device));
    this.#scalars = field.has('scalars') ? readScalars(field.get('scalars')) : null;
    this.#attrs = attrReader(this.#scalars);
  }

  read(): ReadGraph {
    const forward = this.#plan(this.#field.get('forward'));
    const backward = this.#field.has('backward')
      ? this.#backward(this.#field.get('backward'))
      : null;
    const scalarInputs = this.#scalars?.nodes.filter(({ kind }) => kind === 'input').length ?? 0;
    const planned = { values: this.#values, forward, backward };
    return { planned, region: regionOf(planned), levels: this.#levels, scalarInputs };
  }

  #backward(field: Field): BackwardPart {
    return {
      plan: this.#plan(field.get('plan')),
      retainingPlan: this.#plan(field.get('retainingPlan')),
      saved: {
        withData: this.#ids(field.get('withData')),
        noNeedBuffer: this.#ids(field.get('noNeedBuffer')),
      },
      gradOutputs: field.list('gradOutputs', (id) => this.#idOrNull(id)),
      leafOutputs: field.list('leafOutputs', (index) => index.int()),
      gradInputs: field.list('gradInputs', (id) => this.#idOrNull(id)),
      sums: field.list('sums', (ids) => this.#ids(ids)),
      arrivals: field.optionalList('arrivals', readArrival),
    };
  }

  #plan(field: Field): Plan {
    const [peakBytes, lowerBoundBytes, savedBytes, outputBytes, copiedBytes] = field.list(
      'predicted',
      (bytes) => bytes.int(-safe, safe),
      5,
    ) as [number, number, number, number, number];
    const steps = field.list('steps', (step) => this.#step(step));
    const limits = field.get('mayExceed');
    const mayExceed =
      limits.isMissing && hasControl(steps)
        ? undefined
        : field.optionalList('mayExceed', (limit) => limit.oneOf(peakLimits));
    return {
      inputs: this.#ids(field.get('inputs')),
      steps: unfusedSteps(steps, (op) => !runsFused(op, this.#device, this.#values)),
      outputs: this.#ids(field.get('outputs')),
      unusedInputs: this.#ids(field.get('unusedInputs')),
      freesAtEnd: this.#ids(field.get('freesAtEnd')),
      arenaBytes: this.#isPortable ? 0 : field.get('arenaBytes').int(),
      reordered: field.get('reordered').boolean(),
      predicted: {
        peakBytes,
        lowerBoundBytes,
        savedBytes,
        outputBytes,
        copiedBytes,
        ...(mayExceed && { mayExceed }),
      },
    };
  }

  #step(field: Field): Step {
    const outputs = this.#ids(field.get('outputs'));
    const perOutput = <T>(name: string, read: (item: Field) => T): (T | null)[] => {
      const list = field.get(name);
      if (list.isMissing) return outputs.map(() => null);
      return list.tuple(outputs.length).map((item) => (item.isNull ? null : read(item)));
    };
    const inside = field.optionalList(
      'regions',
      (index) => this.#earlier[index.int(0, this.#earlier.length - 1)]!,
    );
    for (const { levels } of inside) this.#levels = Math.max(this.#levels, levels + 1);
    if (this.#levels > maxRegionLevels) {
      field.get('regions').fail(`regions nested at most ${maxRegionLevels} deep`);
    }
    const regions = inside.map(({ planned }) => planned);
    const op: ProgramOp =
      field.get('op').value === fusedName
        ? this.#fused(field)
        : {
            ...this.#op(field),
            ...(inside.length > 0 && { regions: inside.map(({ region }) => region) }),
          };
    return {
      op,
      reuses: perOutput('reuses', (item) => this.#id(item)).map((reuse, i) =>
        this.#isPortable && !this.#mayReuse(op, reuse, outputs[i]!) ? null : reuse,
      ),
      frees: field.optionalList('frees', (id) => this.#id(id)),
      places: this.#isPortable
        ? outputs.map(() => null)
        : perOutput('places', (item) => item.int()),
      ...(regions.length > 0 && { regions }),
    };
  }

  #op(field: Field): ProgramOp {
    const record = readOp(field.get('op'));
    const again = field.get('again');
    return {
      op: record,
      inputs: this.#ids(field.get('inputs')),
      outputs: this.#ids(field.get('outputs')),
      attrs: field.has('attrs') ? this.#attrs(field.get('attrs'), symbolicAttrs(record)) : {},
      // Files record whether an op ran without gradients only for aliases.
      recordsGrad: true,
      ...(!again.isMissing && { again: this.#id(again) }),
      at: readPosition(field.get('at')),
    };
  }

  /** Nesting is limited: a pointwise fused op may be part of a row-by-row op. */
  #fused(field: Field, levels = mostFusedLevels): ProgramOp {
    if (levels === 0) field.get('op').fail(`fused operators at most ${mostFusedLevels} deep`);
    const parts = field.list('parts', (part) =>
      part.get('op').value === fusedName ? this.#fused(part, levels - 1) : this.#part(part),
    );
    if (parts.length === 0) field.get('parts').fail('at least one operator');
    const results = this.#ids(field.get('outputs'));
    const defined = new Set(parts.flatMap(({ outputs }) => outputs));
    if (!results.every((id) => defined.has(id))) field.get('outputs').fail('results of its parts');
    // A device without fusion runs the parts one by one.
    if (!this.#device.fusesPointwise) return apart(parts, results);
    const one = this.#asOne(parts, results);
    const isApart = this.#device.innerBytes === 0 || areTiled(parts, results, this.#values);
    if (!one && isApart) return apart(parts, results);
    return one ?? field.get('parts').fail('operators with rows in common');
  }

  #part(field: Field): ProgramOp {
    const op = this.#op(field);
    const count = op.op.inPlace ? 0 : 1;
    if (exprOf(op.op) && op.outputs.length !== count) field.get('outputs').fail(`${count} results`);
    if (op.inputs.length !== op.op.operands.length) {
      field.get('inputs').fail(`${op.op.operands.length} operands`);
    }
    return op;
  }

  /** Returns null if the parts can't be one op, for example because of invalid operands or attributes. */
  #asOne(parts: readonly ProgramOp[], results: readonly ValueId[]): ProgramOp | null {
    try {
      return oneOp(parts, results, this.#values);
    } catch {
      return null;
    }
  }

  #mayReuse({ op, inputs, outputs }: ProgramOp, reuse: ValueId | null, output: ValueId): boolean {
    if (reuse === null) return false;
    const [from, to] = [inputs.indexOf(reuse), outputs.indexOf(output)];
    if (!mayOverwrite(op, from, this.#device, to)) return false;
    const bytes = (id: ValueId) => this.#device.elementBytes(this.#values[id]!.dtype);
    return bytes(reuse) === bytes(output);
  }

  #ids(field: Field): ValueId[] {
    return field.items().map((id) => this.#id(id));
  }

  #id(field: Field): ValueId {
    return field.int(0, this.#values.length - 1) as ValueId;
  }

  #idOrNull(field: Field): ValueId | null {
    return field.isNull ? null : this.#id(field);
  }
}

function readMeta(field: Field, device: Device): TensorMeta {
  const [dtype, dims, strides, offset] = field.tuple(4);
  if (dims.items().length > maxRank) dims.fail(`at most ${maxRank} dimensions`);
  const shape = dims.items().map((dim) => dim.int());
  // A product of sizes beyond exact integers could round to a smaller one.
  const elements = shape.reduce((product, size) => product * Math.max(size, 1), 8);
  if (!Number.isSafeInteger(elements)) dims.fail('a shape that can be counted');
  const name = dtype.oneOf(dtypeNames);
  // Throws DTypeError if the device doesn't support the dtype.
  device.elementBytes(name);
  return {
    dtype: name,
    shape,
    strides: strides.isNull
      ? contiguousStrides(shape)
      : strides.tuple(shape.length).map((stride) => stride.int()),
    offset: offset.int(),
    device,
  };
}

function readOp(field: Field): OpRecord {
  const name = field.string();
  return (
    opsIn(coreOps).get(name) ??
    controlOps.get(name) ??
    [aliasOp, nameGradientOp, outputGradientOp].find((op) => op.name === name) ??
    field.fail('the name of an operator')
  );
}

function readPosition(field: Field): UserPosition | undefined {
  if (field.isMissing) return undefined;
  const [file, line, column] = field.tuple(3);
  return { file: file.string(), line: line.int(), column: column.int() };
}

/** Returns the program of a planned region. */
function regionOf({ values, forward }: PlannedSubgraph): Region {
  const { inputs, outputs, steps } = forward;
  return { program: { values, inputs, outputs, ops: steps.map(({ op }) => op) }, joint: null };
}

function readArrival(field: Field): GradientContribution {
  const [target, outputs] = field.tuple(2);
  return { target: target.int(), outputs: outputs.items().map((i) => i.int()) };
}

/** Groups parts until they become separate steps. */
function apart(parts: readonly ProgramOp[], outputs: readonly ValueId[]): ProgramOp {
  const defined = new Set(parts.flatMap((part) => part.outputs));
  const inputs = parts.flatMap((part) => part.inputs).filter((id) => !defined.has(id));
  return { ...parts[0]!, inputs: [...new Set(inputs)], outputs, parts };
}
