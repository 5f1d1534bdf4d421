import { isSymbolic, type SymbolicNumber } from '../../runtime/ops/numbers/symbolic-number.ts';
import { unfusedOps } from '../../runtime/program/fused/unfused.ts';
import type { Plan } from '../../runtime/program/plan.ts';
import type { Program, ValueId } from '../../runtime/program/program.ts';
import { ProgramLowering } from '../export/lowering/program-lowering.ts';
import { Slot } from '../export/lowering/slots.ts';
import { elementOf } from '../export/lowering/target.ts';
import type { Value } from '../export/onnx/emit/emitter.ts';
import { graphOf, valueInfo } from '../export/onnx/emit/graph.ts';
import type { OnnxAttr } from '../export/onnx/emit/op-mapping.ts';
import { OnnxEngine } from '../export/onnx/engine.ts';
import { opset } from '../export/onnx/export-program.ts';
import { liveNodes } from '../export/onnx/live-nodes.ts';
import { modelSchema } from '../onnx/schema.ts';
import { encodeMessage } from '../protobuf/message.ts';
import { isView, type Segment, type Store, valuesOf } from './segments.ts';

/** Number of the run: the attribute of the segment's first step that has it. */
export interface NumberInput {
  readonly name: string;
  readonly attr: string;
}

export interface SegmentGraph {
  readonly model: Uint8Array;
  readonly inputs: readonly { readonly name: string; readonly id: ValueId }[];
  readonly numbers: readonly NumberInput[];
  readonly outputs: readonly (Store & { readonly name: string })[];
  /** The step that a node belongs to. */
  stepOf(node: number): number;
}

/** A step that has no form in ONNX. */
export class NotMapped extends Error {
  readonly step: number;

  constructor(step: number, cause: Error) {
    super(cause.message.split('\n')[0], { cause });
    this.step = step;
  }
}

/** The steps of a segment as a model. Throws NotMapped. */
export function segmentGraph(program: Program, plan: Plan, segment: Segment): SegmentGraph {
  const engine = new OnnxEngine({ sizes: null }, new Map(), () => {
    throw new Error('a size that each call decides');
  });
  const { inputs, stores } = valuesOf(plan, segment);
  const numbers = new Map<SymbolicNumber['id'], NumberInput & { readonly value: Value }>();
  const number = (symbol: SymbolicNumber): Value => numbers.get(symbol.id)!.value;
  for (const [attr, symbol] of Object.entries(plan.steps[segment.first]!.op.attrs)) {
    if (!isSymbolic(symbol) || numbers.has(symbol.id)) continue;
    const name = `number.${numbers.size}`;
    numbers.set(symbol.id, { name, attr, value: engine.argument(0, name, 'f64', []) });
  }
  const lowering = new ProgramLowering(engine, { read: number });
  const slots = new Map<ValueId, Slot<Value, OnnxAttr>>();
  for (const id of inputs) {
    const { dtype, shape } = program.values[id]!;
    const value = engine.argument(0, `input.${id}`, elementOf[dtype], shape);
    slots.set(id, Slot.of(engine, value));
  }
  const firstNodes: number[] = [];
  const outputs: (Store & { readonly name: string; readonly value: Value })[] = [];
  for (let i = segment.first; i <= segment.last; i++) {
    const step = plan.steps[i]!;
    firstNodes.push(engine.nodes.length);
    try {
      for (const op of unfusedOps([step.op])) lowering.emit(program, op, slots);
    } catch (error) {
      throw new NotMapped(i, error as Error);
    }
    if (isView(step)) continue;
    for (const { id } of stores.filter((store) => store.step === i)) {
      const name = `output.${outputs.length}`;
      outputs.push({ step: i, id, name, value: engine.named(slots.get(id)!.read(), name) });
    }
  }
  const info = ({ id, element, shape }: Value) =>
    valueInfo(id, element, shape, () => {
      throw new Error('a size that each call decides');
    });
  const values = inputs.map((id) =>
    engine.argument(
      0,
      `input.${id}`,
      elementOf[program.values[id]!.dtype],
      program.values[id]!.shape,
    ),
  );
  const nodes = liveNodes(
    engine.nodes,
    outputs.map(({ name }) => name),
  );
  const read = new Set(nodes.flatMap(({ input }) => input));
  const own = [...numbers.values()].filter(({ name }) => read.has(name));
  const taken = values.filter(({ id }) => read.has(id));
  const model = encodeMessage(modelSchema, {
    irVersion: 8,
    producerName: 'tostatic',
    opsetImport: [{ domain: '', version: opset }],
    graph: graphOf(
      'segment',
      nodes,
      [...taken, ...own.map(({ value }) => value)].map(info),
      outputs.map(({ value }) => info(value)),
      [...engine.initializers],
    ),
    metadata: [],
    functions: [],
  });
  return {
    model,
    inputs: inputs.flatMap((id) => (read.has(`input.${id}`) ? [{ name: `input.${id}`, id }] : [])),
    numbers: own.map(({ name, attr }) => ({ name, attr })),
    outputs: outputs.map(({ step, id, name }) => ({ step, id, name })),
    stepOf: (node) => segment.first + firstNodes.findLastIndex((start) => start <= node),
  };
}
