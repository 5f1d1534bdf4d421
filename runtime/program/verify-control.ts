import type { ControlForm } from '../ops/define-op.ts';
import { scalarFunctions } from '../ops/scalar-functions.ts';
import {
  formatSpec,
  isContiguousMeta,
  sameSpec,
  type TensorMeta,
  type TensorSpec,
} from '../tensor/meta.ts';
import { sameShape, sizeOf } from '../tensor/shape.ts';
import type { PlannedSubgraph, Step } from './plan.ts';
import type { ProgramOp, ValueId } from './program.ts';
import type { Fail } from './verify-plan.ts';

const methods: readonly unknown[] = ['log', 'info', 'warn', 'error', 'debug'];

/**
 * Holds that the programs inside an operator take what it has and give what it answers, and that the
 * operator that undoes another one undoes the same programs.
 */
export function verifyControl(step: Step, graph: PlannedSubgraph, fail: Fail): void {
  const { kernel } = step.op.op;
  if (kernel.kind !== 'control') return;
  checks[kernel.form](new ControlCheck(step, graph, fail));
}

const checks: { readonly [F in ControlForm]: (check: ControlCheck) => void } = {
  cond: (check) => check.cond(),
  while: (check) => check.while(),
  condBackward: (check) => check.backward('cond'),
  whileBackward: (check) => check.backward('while'),
  assert: (check) => check.assert(),
  print: (check) => check.print(),
  hostNumber: (check) => check.hostNumber(),
  draw: (check) => check.draw(),
  list: (check) => check.plain(),
  call: (check) => check.call(),
  callBackward: (check) => check.callBackward(),
  dimension: (check) => check.dimension(),
  missing: (check) => check.missing(),
};

class ControlCheck {
  readonly #step: Step;
  readonly #graph: PlannedSubgraph;
  readonly #fail: Fail;

  constructor(step: Step, graph: PlannedSubgraph, fail: Fail) {
    this.#step = step;
    this.#graph = graph;
    this.#fail = fail;
  }

  cond(): void {
    const [test, ...captured] = this.#inputs;
    if (!test) this.#fail('no condition', 'a truth value');
    this.#expectSingle(test);
    for (const region of this.#regions(2)) {
      this.#expectInputs(region, captured);
      this.#expectResults(region, this.#results());
    }
  }

  while(): void {
    const results = this.#results();
    const [test, body] = this.#regions(2) as [PlannedSubgraph, PlannedSubgraph];
    this.#expectInputs(test, this.#inputs);
    this.#expectInputs(body, this.#inputs);
    this.#expectResults(body, results);
    this.#expectSame('carried values', results, this.#inputs.slice(0, results.length));
    const answer = test.forward.outputs.map((id) => test.values[id]!);
    if (answer.length !== 1) this.#fail(`${answer.length} conditions`, 'one');
    this.#expectSingle(answer[0]!);
  }

  backward(undone: 'cond' | 'while'): void {
    const { op, regions = [] } = this.#step;
    const [tape, ...given] = op.inputs;
    const forward = this.#undone(undone, tape);
    const isSame = forward.regions?.every((region, i) => {
      return region === regions[i] || (region.backward === null && regions[i]?.backward === null);
    });
    if (!isSame || forward.regions?.length !== regions.length) {
      this.#fail('other programs', 'those of the operator that it undoes');
    }
    const carried = undone === 'while' ? forward.op.outputs.length - 1 : 0;
    if ((op.attrs.carried ?? 0) !== carried)
      this.#fail('another number of carried values', String(carried));
    this.#verifyGradients(forward.op, given);
    // Only then its record is no use to the body.
    for (const { forward: inner, backward, values } of regions) {
      const strided = [...(backward?.gradInputs ?? [])].find(
        (id) => id !== null && !isContiguousMeta(values[id]!),
      );
      if (strided !== undefined) this.#fail(`a strided gradient %${strided}`, 'a contiguous one');
      if (inner.outputs.length !== forward.op.outputs.length - 1 && backward) {
        this.#fail('other results', 'those of the operator');
      }
    }
  }

  /** The step whose record it is. */
  #undone(name: string, tape: ValueId | undefined): Step {
    const found = this.#graph.forward.steps.find(
      ({ op }) => op.op.name === name && op.outputs.at(-1) === tape,
    );
    return found ?? this.#fail(`%${tape}`, `the record of a ${name}`);
  }

  assert(): void {
    const [test] = this.#inputs;
    if (!test || this.#inputs.length !== 1) this.#fail('no condition', 'a truth value');
    this.#expectSingle(test);
    this.#expectNoResults();
  }

  hostNumber(): void {
    const { op, inputs, outputs, attrs } = this.#step.op;
    if (!scalarFunctions.has(String(attrs.fn)))
      this.#fail(`${String(attrs.fn)}`, 'a function of numbers');
    for (const input of this.#inputs) this.#expectSingle(input);
    if (inputs.length === 0) this.#fail('no numbers', 'at least one');
    this.#expectSame('results', this.#metas(outputs), op.infer(this.#inputs, attrs));
    if (this.#step.regions) this.#fail('programs inside', 'none');
  }

  draw(): void {
    const { op, inputs, outputs, attrs } = this.#step.op;
    if (inputs.length < 2) this.#fail(`${inputs.length} numbers`, 'the seed and a place');
    for (const input of this.#inputs) this.#expectSingle(input);
    if (typeof attrs.offset !== 'number' || !(attrs.offset >= 0)) {
      this.#fail(`the offset ${String(attrs.offset)}`, 'a number from 0 on');
    }
    this.#expectSame('results', this.#metas(outputs), op.infer(this.#inputs, attrs));
    this.#expectContiguous(outputs);
    if (this.#step.regions) this.#fail('programs inside', 'none');
  }

  /** Results as the record says, and no programs inside. */
  plain(): void {
    const { op, inputs, outputs, attrs } = this.#step.op;
    const fits = op.variadic || inputs.length === op.operands.length;
    if (!fits) this.#fail(`${inputs.length} operands`, String(op.operands.length));
    this.#expectSame('results', this.#metas(outputs), op.infer(this.#inputs, attrs));
    this.#expectContiguous([...inputs, ...outputs]);
    if (this.#step.regions) this.#fail('programs inside', 'none');
  }

  call(): void {
    const { op, call } = this.#step;
    if (!call) this.#fail('a call without what is called', 'a function of tensors');
    const { forms, dynamic } = call.call;
    if (forms.length !== op.inputs.length) this.#fail(`${op.inputs.length} operands`, forms.join());
    if (this.#results().length !== dynamic.length) this.#fail('other results', 'those of the call');
    this.#expectContiguous([...op.inputs, ...op.outputs]);
  }

  callBackward(): void {
    const { op, call } = this.#step;
    const [tape, ...given] = op.inputs;
    const forward = this.#undone('call', tape);
    if (!call || forward.call?.call.forms.join() !== call.call.forms.join()) {
      this.#fail('another call', 'the one that it undoes');
    }
    this.#verifyGradients(forward.op, given);
  }

  /** Those that come and those that leave are like the results and operands of the op that is undone. */
  #verifyGradients({ inputs, outputs }: ProgramOp, given: readonly ValueId[]): void {
    const { op } = this.#step;
    const of = this.#indices('of', outputs.length - 1);
    const to = this.#indices('to', inputs.length);
    this.#expectSame(
      'gradients given',
      this.#metas(given),
      this.#metas(of.map((i) => outputs[i]!)),
    );
    this.#expectSame('gradients', this.#metas(op.outputs), this.#metas(to.map((i) => inputs[i]!)));
    this.#expectContiguous([...given, ...op.outputs]);
  }

  dimension(): void {
    const { op, attrs, inputs, outputs } = this.#step.op;
    const [given] = this.#inputs;
    if (!given || inputs.length !== 1) this.#fail(`${inputs.length} operands`, '1');
    const isDim = Number.isInteger(attrs.dim) && (attrs.dim as number) >= -1;
    if (!isDim || (attrs.dim as number) >= given.shape.length - 1) {
      this.#fail(`the dimension ${String(attrs.dim)}`, 'one of the tensor');
    }
    this.#expectSame('results', this.#metas(outputs), op.infer(this.#inputs, attrs));
    if (this.#step.regions) this.#fail('programs inside', 'none');
  }

  missing(): void {
    if (this.#inputs.length === 0) this.#fail('no gradient', 'at least one');
    this.plain();
  }

  print(): void {
    const { attrs, inputs } = this.#step.op;
    if (!methods.includes(attrs.method))
      this.#fail(`console.${String(attrs.method)}`, methods.join());
    for (const part of this.#parts(attrs.parts)) {
      if (typeof part !== 'object' || part === null) this.#fail('a part of a line', 'an object');
      const entries = Object.entries(part);
      const [kind, value] = entries[0] ?? [];
      if (entries.length !== 1) this.#fail('a part of a line', 'one of its kinds');
      if (kind === 'constant') {
        if (typeof value === 'object' && value !== null) this.#fail('an object', 'a constant');
        continue;
      }
      const isIndex =
        ['value', 'number', 'boolean'].includes(String(kind)) && typeof value === 'number';
      const id = isIndex ? inputs[value as number] : undefined;
      if (id === undefined) this.#fail(`the part ${JSON.stringify(part)}`, 'an operand');
      if (kind !== 'value') this.#expectSingle(this.#graph.values[id]!);
    }
    this.#expectNoResults();
  }

  #parts(text: unknown): readonly unknown[] {
    try {
      const parts: unknown = JSON.parse(String(text));
      if (Array.isArray(parts)) return parts;
    } catch {
      // Said below.
    }
    return this.#fail('a line that cannot be read', 'a list as JSON');
  }

  get #inputs(): TensorMeta[] {
    return this.#metas(this.#step.op.inputs);
  }

  #metas(ids: readonly ValueId[]): TensorMeta[] {
    return ids.map((id) => this.#graph.values[id]!);
  }

  /** All but the record for backward, which has no bytes. */
  #results(): TensorMeta[] {
    const { outputs } = this.#step.op;
    const tape = outputs.at(-1);
    if (tape === undefined) this.#fail('no results', 'at least the record for backward');
    if (sizeOf(this.#graph.values[tape]!.shape) > 0) this.#fail('a record with data', 'none');
    this.#expectTapeUse(tape);
    this.#expectContiguous(outputs);
    return this.#metas(outputs.slice(0, -1));
  }

  /** A record is read by the operator that undoes this one, and by nobody else. */
  #expectTapeUse(tape: ValueId): void {
    const { forward, backward } = this.#graph;
    const steps = [forward, ...(backward ? [backward.plan, backward.retainingPlan] : [])].flatMap(
      (plan) => plan.steps,
    );
    const isMisused = steps.some(({ op }) => {
      const at = op.inputs.indexOf(tape);
      return at > 0 || (at === 0 && !op.op.name.endsWith('Backward'));
    });
    if (isMisused || forward.outputs.includes(tape))
      this.#fail(`%${tape} read as a value`, 'no use');
  }

  #regions(count: number): readonly PlannedSubgraph[] {
    const { regions = [] } = this.#step;
    if (regions.length !== count) this.#fail(`${regions.length} programs inside`, String(count));
    return regions;
  }

  #expectInputs({ values, forward }: PlannedSubgraph, operands: readonly TensorMeta[]): void {
    const inputs = forward.inputs.map((id) => values[id]!);
    this.#expectSame('operands', inputs, operands);
    inputs.forEach((input, i) => {
      const { strides, shape } = operands[i]!;
      const fits =
        sameShape(input.strides, strides) ||
        (isContiguousMeta(input) && isContiguousMeta({ ...input, strides }));
      if (!fits)
        this.#fail(`an operand ${formatSpec({ ...input, shape })} of other strides`, 'the same');
    });
  }

  #expectResults({ values, forward }: PlannedSubgraph, results: readonly TensorMeta[]): void {
    const outputs = forward.outputs.map((id) => values[id]!);
    this.#expectSame('results', outputs, results);
    if (!outputs.every(isContiguousMeta)) this.#fail('a strided result', 'contiguous results');
  }

  #expectSame(what: string, given: readonly TensorMeta[], expected: readonly TensorSpec[]): void {
    const print = (metas: readonly TensorSpec[]) => metas.map(formatSpec).join(', ') || 'none';
    const isSame =
      given.length === expected.length && given.every((meta, i) => sameSpec(meta, expected[i]!));
    if (!isSame) this.#fail(`${what}: ${print(given)}`, print(expected));
  }

  #expectSingle({ shape, dtype }: TensorMeta): void {
    if (sizeOf(shape) < 1) this.#fail(`a condition ${formatSpec({ shape, dtype })}`, 'a value');
  }

  #expectContiguous(ids: readonly ValueId[]): void {
    const strided = ids.find((id) => !isContiguousMeta(this.#graph.values[id]!));
    if (strided !== undefined) this.#fail(`%${strided} with strides`, 'a contiguous value');
  }

  #expectNoResults(): void {
    if (this.#step.op.outputs.length > 0) this.#fail('results', 'none');
    if (this.#step.regions) this.#fail('programs inside', 'none');
  }

  /** A list of different whole numbers below a limit. */
  #indices(name: 'of' | 'to', limit: number): readonly number[] {
    const found = this.#step.op.attrs[name];
    const isList = Array.isArray(found) && new Set(found).size === found.length;
    if (isList && found.every((i) => Number.isInteger(i) && i >= 0 && i < limit))
      return found as number[];
    return this.#fail(`${name}=${JSON.stringify(found)}`, `different numbers below ${limit}`);
  }
}
