import type { TensorMeta } from '../../runtime/device/tensor-meta.ts';
import { isSymbolic, type SymbolicNumber } from '../../runtime/ops/numbers/symbolic-number.ts';
import { unfusedOps } from '../../runtime/program/fused/unfused.ts';
import type { Plan, Step } from '../../runtime/program/plan.ts';
import type { Program, ProgramOp, ValueId } from '../../runtime/program/program.ts';
import { isContiguous, isDense, memoryOrder } from '../../runtime/spec/shape.ts';
import { Frame } from '../export/lowering/frame.ts';
import { ProgramLowering } from '../export/lowering/program-lowering.ts';
import { Slot } from '../export/lowering/slots.ts';
import type { Value } from '../export/onnx/emit/emitter.ts';
import { graphOf, valueInfo } from '../export/onnx/emit/graph.ts';
import { OnnxEngine } from '../export/onnx/engine.ts';
import { liveNodes, namedResults } from '../export/onnx/live-nodes.ts';
import { elementOf } from '../export/target/target.ts';
import { isView, reasonForKernel, type Segment, type Store, valuesOf } from './segments.ts';
import { modelBytes } from './session-options.ts';

/** A number of the run: the attribute of the segment's first step that reads it. */
interface NumberInput {
  readonly name: string;
  readonly attr: string;
}

/** An operand or result of a graph, with elements in memory order: the graph itself transposes. */
interface PortValue {
  readonly name: string;
  readonly id: ValueId;
  readonly layout: TensorMeta;
}

export interface SegmentGraph {
  readonly model: Uint8Array;
  readonly inputs: readonly PortValue[];
  readonly numbers: readonly NumberInput[];
  readonly outputs: readonly (Store & PortValue)[];
  /** Returns the step that a node belongs to. */
  stepOf(node: number): number;
}

/** Thrown for a step that ONNX can't express. */
export class NotMapped extends Error {
  readonly step: number;

  constructor(step: number, cause: Error) {
    super(cause.message.split('\n')[0], { cause });
    this.step = step;
  }
}

/** Returns the steps of a segment as a model. Throws NotMapped. */
export function segmentGraph(program: Program, plan: Plan, segment: Segment): SegmentGraph {
  const engine = new OnnxEngine({ sizes: null }, new Map(), noSize);
  const { inputs, stores } = valuesOf(plan, segment);
  const numbers = numbersOf(engine, plan.steps[segment.first]!);
  const lowering = new ProgramLowering(engine, { read: ({ id }) => numbers.get(id)!.value });
  const frame = new Frame<Value>();
  const views = viewsAmong(program, plan, segment, inputs);
  const viewed = new Set(views.flatMap(({ outputs }) => outputs));
  const ports = inputs
    .filter((id) => !viewed.has(id))
    .map((id) => inputPort(program, id, engine, frame));
  for (const op of views) lowering.emit(program, op, frame);
  const firstNodes: number[] = [];
  const outputs: (Store & GraphPort)[] = [];
  for (let i = segment.first; i <= segment.last; i++) {
    const step = plan.steps[i]!;
    firstNodes.push(engine.nodes.length);
    try {
      for (const op of unfusedOps([step.op])) lowering.emit(program, op, frame);
    } catch (error) {
      throw new NotMapped(i, error as Error);
    }
    if (isView(step)) continue;
    for (const { id } of stores.filter((store) => store.step === i)) {
      const name = `output.${outputs.length}`;
      const meta = program.values[id]!;
      const order = orderInMemory(meta);
      const value = engine.named(engine.transpose(frame.slot(id).read(), order), name);
      outputs.push({ step: i, id, name, layout: layoutOf(meta, order), value });
    }
  }
  return {
    ...modelOf(engine, ports, [...numbers.values()], outputs),
    outputs: outputs.map(({ step, id, name, layout }) => ({ step, id, name, layout })),
    stepOf: (node) =>
      segment.first +
      Math.max(
        0,
        firstNodes.findLastIndex((start) => start <= node),
      ),
  };
}

/** A port, and its name in the graph. */
interface GraphPort extends PortValue {
  readonly value: Value;
}

type GivenNumber = NumberInput & { readonly value: Value };

/** Returns the numbers of the run that a segment reads; its first step reads all of them. */
function numbersOf(engine: OnnxEngine, { op }: Step): Map<SymbolicNumber['id'], GivenNumber> {
  const numbers = new Map<SymbolicNumber['id'], GivenNumber>();
  for (const [attr, symbol] of Object.entries(op.attrs)) {
    if (!isSymbolic(symbol) || numbers.has(symbol.id)) continue;
    const name = `number.${numbers.size}`;
    numbers.set(symbol.id, { name, attr, value: engine.argument(0, name, 'f64', []) });
  }
  return numbers;
}

/** Adds an operand in memory order; the graph reads it transposed back. */
function inputPort(
  program: Program,
  id: ValueId,
  engine: OnnxEngine,
  frame: Frame<Value>,
): GraphPort {
  const meta = program.values[id]!;
  const order = orderInMemory(meta);
  const layout = layoutOf(meta, order);
  const name = `input.${id}`;
  const value = engine.argument(0, name, elementOf[layout.dtype], layout.shape);
  const places = order.map((_, dim) => order.indexOf(dim));
  frame.slots.set(id, Slot.of(engine, engine.transpose(value, places)));
  return { id, name, layout, value };
}

/** Returns the model of the nodes that the outputs need, and the inputs that these read. */
function modelOf(
  engine: OnnxEngine,
  ports: readonly GraphPort[],
  numbers: readonly GivenNumber[],
  outputs: readonly GraphPort[],
): Pick<SegmentGraph, 'model' | 'inputs' | 'numbers'> {
  const results = outputs.map(({ name }) => name);
  const nodes = namedResults(liveNodes(engine.nodes, results), results);
  const read = new Set(nodes.flatMap(({ input }) => input));
  const taken = ports.filter(({ name }) => read.has(name));
  const readNumbers = numbers.filter(({ name }) => read.has(name));
  const info = ({ value: { id, element, shape } }: { readonly value: Value }) =>
    valueInfo(id, element, shape, noSize);
  const graph = graphOf('segment', nodes, [...taken, ...readNumbers].map(info), outputs.map(info), [
    ...engine.initializers,
  ]);
  return {
    model: modelBytes(graph),
    inputs: taken.map(({ name, id, layout }) => ({ name, id, layout })),
    numbers: readNumbers.map(({ name, attr }) => ({ name, attr })),
  };
}

function noSize(): never {
  throw new Error('a size that each call decides');
}

/**
 * Returns operands that are views of other operands: the graph computes them itself, so that each memory is passed
 * once.
 */
function viewsAmong(
  program: Program,
  { steps }: Plan,
  { first }: Segment,
  inputs: readonly ValueId[],
): ProgramOp[] {
  const isGiven = new Set(inputs);
  return steps.slice(0, first).flatMap((step) => {
    const { op } = step;
    const isView = permutations.has(op.op.name) && reasonForKernel(step, program, true) === null;
    return isView && [...op.inputs, ...op.outputs].every((id) => isGiven.has(id)) ? [op] : [];
  });
}

/** Views of all elements that ONNX can express for any base. */
const permutations: ReadonlySet<string> = new Set(['permute', 'reshape', 'alias']);

/**
 * Returns the dimensions from the largest stride to the smallest, if the elements are then row-major without gaps;
 * otherwise in order.
 */
function orderInMemory({ shape, strides }: TensorMeta): readonly number[] {
  const isPermuted = !isContiguous(shape, strides) && isDense(shape, strides);
  return isPermuted ? memoryOrder(strides) : shape.map((_, dim) => dim);
}

function layoutOf(meta: TensorMeta, order: readonly number[]): TensorMeta {
  const of = (numbers: readonly number[]) => order.map((dim) => numbers[dim]!);
  return { ...meta, shape: of(meta.shape), strides: of(meta.strides) };
}
