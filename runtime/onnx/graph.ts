import { zeros } from '../ops/movement/create.ts';
import { stack } from '../ops/movement/joining.ts';
import { Tensor } from '../tensor/tensor.ts';
import { badWeights, shown } from '../weights/bad-file.ts';
import { Folding, withoutUnread } from './folding.ts';
import { Attributes } from './format/attributes.ts';
import type { OnnxGraph, OnnxNode, OnnxTensorType } from './format/proto.ts';
import { checkOperands } from './node/check-operands.ts';
import type { Runner } from './node/node.ts';
import { missing } from './node/not-imported.ts';
import { operators } from './operators.ts';
import { givesNumbers, isSetting, settingOf } from './settings.ts';
import {
  type Host,
  hostOf,
  isHost,
  numberIn,
  type Operand,
  tensorOf,
  type Value,
} from './values/host.ts';
import { dtypeOf, type ExternalData, readTensor } from './values/tensors.ts';
import { wrongSetting } from './values/wrong-setting.ts';

interface Step {
  readonly run: Runner;
  readonly inputs: readonly number[];
  readonly outputs: readonly number[];
}

/** A branch or loop, with its graphs. */
interface ControlStep {
  readonly kind: 'if' | 'loop';
  readonly graphs: readonly CompiledGraph[];
  readonly inputs: readonly number[];
  readonly outputs: readonly number[];
}

/** A graph as steps over numbered values; nested graphs see the values of enclosing ones. */
export interface CompiledGraph {
  readonly inputs: readonly number[];
  readonly steps: readonly (Step | ControlStep)[];
  readonly outputs: readonly number[];
  /** The types that the file declares for the outputs. */
  readonly outputTypes: readonly (OnnxTensorType | undefined)[];
  /** Values that are the same in every run. */
  readonly constants: readonly (readonly [slot: number, value: Value])[];
}

/** Slots of values by name; a nested graph's names shadow those of enclosing graphs. */
class Names {
  readonly #around: Names | null;
  readonly #own = new Map<string, number>();
  readonly #count: { next: number };

  constructor(around: Names | null) {
    this.#around = around;
    this.#count = around ? around.#count : { next: 0 };
  }

  define(name: string): number {
    const slot = this.#count.next++;
    this.#own.set(name, slot);
    return slot;
  }

  /** Returns the slot of an unnamed value. */
  unnamed(): number {
    return this.#count.next++;
  }

  find(name: string): number | undefined {
    return this.#own.get(name) ?? this.#around?.find(name);
  }
}

export class GraphCompiler {
  readonly #external: ExternalData;
  readonly #opset: number;
  /** Unsupported operators, with the reason. */
  readonly missing = new Set<string>();
  /** Slots of values that nodes read as data, not only as settings. */
  readonly #data = new Set<number>();
  /** Values stored in the file. */
  readonly #known = new Map<number, Value>();
  /** Values that are JavaScript numbers in every run. */
  readonly #numbers = new Set<number>();
  /** The model's own initializers; floating-point ones are learned. */
  readonly #initializers = new Set<number>();
  readonly #folding = new Folding();
  /** Constants computed by nodes of the file. */
  readonly #folded = new Set<number>();

  constructor(opset: number, external: ExternalData) {
    this.#opset = opset;
    this.#external = external;
  }

  /** Returns the graph of the model, and the slots of its initializers by name, except those that are only settings. */
  model(graph: OnnxGraph): {
    readonly compiled: CompiledGraph;
    readonly weights: ReadonlyMap<string, number>;
  } {
    const names = new Names(null);
    const whole = this.#graph(graph, names, true);
    const isInitializer = (slot: number) => this.#initializers.has(slot);
    const compiled = frozen(withoutUnread(whole, this.#folded, isInitializer));
    const weights = new Map<string, number>();
    for (const { name = '' } of graph.initializer) {
      const slot = names.find(name)!;
      if (this.#data.has(slot)) weights.set(name, slot);
    }
    return { compiled, weights };
  }

  #graph(graph: OnnxGraph, names: Names, isModel = false): CompiledGraph {
    if (graph.sparseInitializer.length > 0) throw missing('sparse initializers');
    const weights = new Set(graph.initializer.map(({ name }) => name));
    const constants: [number, Value][] = [];
    for (const proto of graph.initializer) {
      const value = readTensor(proto, this.#external);
      const slot = names.define(proto.name ?? '');
      if (isModel) this.#initializers.add(slot);
      constants.push(this.#constantAt(slot, value));
    }
    const inputs = graph.input
      .filter(({ name }) => !weights.has(name))
      .map(({ name = '' }) => names.define(name));
    const steps = graph.node.flatMap((node) => this.#node(node, names, constants));
    const outputs = graph.output.map(({ name = '' }) => this.#slot(name, names));
    for (const slot of outputs) this.#data.add(slot);
    const outputTypes = graph.output.map(({ type }) => type?.tensorType);
    return { inputs, steps, outputs, outputTypes, constants };
  }

  #slot(name: string, names: Names): number {
    const slot = names.find(name);
    if (slot !== undefined) return slot;
    throw badWeights(
      'onnx',
      'the graph',
      `a value ${shown(name)} that nothing computes`,
      'nodes in their order',
    );
  }

  #node(node: OnnxNode, names: Names, constants: [number, Value][]): (Step | ControlStep)[] {
    const { opType = '', domain = '' } = node;
    const attributes = new Attributes(`${opType} ${shown(node.name ?? '')}`, node.attribute);
    const slots = node.input.map((name) => (name === '' ? -1 : this.#slot(name, names)));
    const isOfNumbers = givesNumbers(
      opType,
      slots
        .filter((slot) => slot >= 0)
        .map((slot) => ({ isNumber: this.#numbers.has(slot), constant: this.#known.get(slot) })),
    );
    const inputs = slots.map((slot, i) =>
      this.#operand(slot, isOfNumbers || isSetting(opType, i), names, constants),
    );
    if (domain !== '' && domain !== 'ai.onnx') {
      this.missing.add(`${domain}.${opType}`);
      return [];
    }
    checkOperands(node);
    if (opType === 'If' || opType === 'Loop') {
      const keys = opType === 'If' ? ['then_branch', 'else_branch'] : ['body'];
      const graphs = keys.map((key) => this.#graph(attributes.graph(key), new Names(names)));
      const outputs = this.#define(node, names);
      return [{ kind: opType === 'If' ? 'if' : 'loop', graphs, inputs, outputs }];
    }
    if (opType === 'Constant') {
      const [slot] = this.#define(node, names);
      constants.push(this.#constantAt(slot!, this.#constant(attributes)));
      return [];
    }
    const operator = Object.hasOwn(operators, opType) ? operators[opType] : undefined;
    const outputs = this.#define(node, names);
    if (!operator) {
      this.missing.add(opType);
      return [];
    }
    if (isOfNumbers) for (const slot of outputs) this.#numbers.add(slot);
    const facts = { opType, opset: this.#opset, attributes, outputs: outputs.length };
    const run = operator(Object.freeze(facts));
    return this.#fold(opType, { run, inputs, outputs }, isOfNumbers, constants)
      ? []
      : [{ run, inputs, outputs }];
  }

  /** Whether the step was replaced by constants. */
  #fold(
    opType: string,
    { run, inputs, outputs }: Step,
    isOfNumbers: boolean,
    constants: [number, Value][],
  ): boolean {
    const operands: Operand[] = [];
    for (const slot of inputs) {
      const value = this.#known.get(slot);
      const isLearned = value instanceof Tensor && this.#initializers.has(slot);
      if (slot >= 0 && (!value || isLearned)) return false;
      operands.push(value ?? null);
    }
    const results = this.#folding.fold(opType, run, operands, isOfNumbers);
    if (!results) return false;
    for (const [i, slot] of outputs.entries()) {
      const value = results[i];
      if (slot < 0 || !value) continue;
      constants.push(this.#knownAt(slot, value));
      this.#folded.add(slot);
    }
    return true;
  }

  #constantAt(slot: number, value: Value): [number, Value] {
    this.#folding.add(value);
    return this.#knownAt(slot, value);
  }

  #knownAt(slot: number, value: Value): [number, Value] {
    this.#known.set(slot, value);
    if (isHost(value)) this.#numbers.add(slot);
    return [slot, value];
  }

  /** Returns the slot of an operand; a setting stored in the file gets a separate slot. */
  #operand(
    slot: number,
    isForSetting: boolean,
    names: Names,
    constants: [number, Value][],
  ): number {
    const known = isForSetting ? this.#known.get(slot) : undefined;
    const setting = known && settingOf(known);
    if (!setting) {
      this.#data.add(slot);
      return slot;
    }
    if (setting === known) return slot;
    const unnamed = names.unnamed();
    constants.push(this.#knownAt(unnamed, setting));
    return unnamed;
  }

  #define(node: OnnxNode, names: Names): number[] {
    return node.output.map((name) => (name === '' ? -1 : names.define(name)));
  }

  #constant(attributes: Attributes): Value {
    const proto = attributes.tensor('value');
    if (proto) return readTensor(proto, this.#external);
    const ints = attributes.numbers('value_ints');
    if (ints) return hostOf(ints, [ints.length]);
    if (attributes.has('value_int')) return hostOf([attributes.number('value_int', 0)], []);
    const floats = attributes.numbers('value_floats');
    if (floats) return tensorOf(hostOf(floats, [floats.length], 'float32'));
    if (attributes.has('value_float')) {
      return tensorOf(hostOf([attributes.number('value_float', 0)], [], 'float32'));
    }
    throw missing('a constant of texts or sparse elements');
  }
}

/** Freezes everything in the graph except tensors: compiled functions guard on its identity, not its contents. */
function frozen<T>(part: T): T {
  if (typeof part !== 'object' || part === null || part instanceof Tensor) return part;
  for (const each of Object.values(part)) frozen(each);
  return Object.freeze(part);
}

/** Runs a graph. `around` are the values of the enclosing graphs, by slot. */
export function runGraph(
  graph: CompiledGraph,
  around: readonly Operand[],
  inputs: readonly Operand[],
): Operand[] {
  const values: Operand[] = around.slice();
  for (let i = 0; i < graph.constants.length; i++) {
    const [slot, value] = graph.constants[i]!;
    values[slot] = value;
  }
  for (let i = 0; i < graph.inputs.length; i++) values[graph.inputs[i]!] = inputs[i]!;
  for (let i = 0; i < graph.steps.length; i++) {
    const step = graph.steps[i]!;
    const operands: Operand[] = [];
    for (let k = 0; k < step.inputs.length; k++) {
      const slot = step.inputs[k]!;
      operands.push(slot < 0 ? null : valueAt(values, slot));
    }
    const results = 'run' in step ? step.run(operands) : runControl(step, values, operands);
    if (!Array.isArray(results)) {
      if (step.outputs[0]! >= 0) values[step.outputs[0]!] = results as Value;
      continue;
    }
    for (let k = 0; k < step.outputs.length; k++) {
      const slot = step.outputs[k]!;
      if (slot >= 0) values[slot] = (results as readonly Value[])[k] ?? null;
    }
  }
  const outputs: Operand[] = [];
  for (let i = 0; i < graph.outputs.length; i++) outputs.push(valueAt(values, graph.outputs[i]!));
  return outputs;
}

/** Returns a value computed by a step; an operator may have fewer results than the node has names. */
function valueAt(values: readonly Operand[], slot: number): Value {
  const value = values[slot];
  if (value) return value;
  throw wrongSetting('a value that its node does not compute', 'outputs that the operator has');
}

function runControl(
  { kind, graphs }: ControlStep,
  values: readonly Operand[],
  operands: readonly Operand[],
): readonly Operand[] {
  if (kind === 'if') {
    if (holds(operands[0]!)) return runGraph(graphs[0]!, values, []);
    return runGraph(graphs[1]!, values, []);
  }
  return runLoop(graphs[0]!, values, operands);
}

function holds(value: Value): boolean {
  if (isHost(value)) return numberIn(value) !== 0;
  return Number(value.itemSync()) !== 0;
}

/** The iteration limit of a loop with a constant condition; in a damaged file it could run for years. */
const mostUnconditional = 2 ** 16;

/** Runs a Loop node. Returns the loop-carried values, then the stacked values of all iterations. */
function runLoop(
  body: CompiledGraph,
  values: readonly Operand[],
  [most, condition, ...first]: readonly Operand[],
): readonly Operand[] {
  const limit = most ? numberIn(most) : Number.POSITIVE_INFINITY;
  const count = first.length;
  if (body.outputs.length < 1 + count || body.inputs.length !== 2 + count) {
    throw wrongSetting(
      `a Loop of ${count} values whose body takes ${body.inputs.length} and returns ${body.outputs.length}`,
      'a body that takes and returns what the loop carries',
    );
  }
  let carried: readonly Operand[] = first;
  const scans: Operand[][] = body.outputs.slice(1 + count).map(() => []);
  let proceeds = condition ? holds(condition) : true;
  for (let i = 0; i < limit && proceeds; i++) {
    const next = hostOf([1], [], 'bool');
    const results = runGraph(body, values, [hostOf([i], []), next, ...carried]);
    if (i >= mostUnconditional && isHost(results[0])) {
      throw wrongSetting(`a Loop of ${limit} iterations`, `at most ${mostUnconditional}`);
    }
    proceeds = holds(results[0]!);
    carried = results.slice(1, 1 + count);
    for (let k = 0; k < scans.length; k++) scans[k]!.push(results[1 + count + k]!);
  }
  return [...carried, ...scans.map((each, k) => stacked(each, body.outputTypes[1 + count + k]))];
}

/** Stacks the values of all iterations along a new dimension; without iterations, the file must declare their type. */
function stacked(items: readonly Operand[], type: OnnxTensorType | undefined): Value {
  if (items.length === 0) return noItems(type);
  if (items.every(isHost)) {
    const hosts = items as readonly Host[];
    return hostOf(
      hosts.flatMap(({ values }) => values),
      [hosts.length, ...hosts[0]!.shape],
    );
  }
  return stackTensors(items as readonly Value[]);
}

function noItems(type: OnnxTensorType | undefined): Value {
  const sizes = type?.shape?.dim.map(({ dimValue }) => dimValue);
  if (!type?.elemType || !sizes?.every((size) => size !== undefined && size >= 0)) {
    throw missing('a Loop without iterations that collects results of a shape that the file lacks');
  }
  return zeros([0, ...(sizes as number[])], { dtype: dtypeOf(type.elemType, 'Loop') });
}

const stackTensors = (items: readonly Value[]): Value => stack(items.map(tensorOf));
