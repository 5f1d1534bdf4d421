import type { Launch } from '../device/device.ts';
import { downloadAhead, isReadLater } from '../device/downloads.ts';
import { Holder } from '../device/holder.ts';
import { type Attrs, userName } from '../device/kernel-op.ts';
import { hasChangingAttrs, launchAttrs } from '../device/symbolic-attrs.ts';
import type { TensorMeta } from '../device/tensor-meta.ts';
import { invariant } from '../errors/invariant.ts';
import { events } from '../memory/events.ts';
import { spans } from '../profiler/spans.ts';
import { isSameTensor } from '../program/alias-op.ts';
import { type Backend, synchronous } from '../program/backend.ts';
import { leavesOf } from '../program/fused/fused-op.ts';
import { nameGradientOp, optionalGradientsOf } from '../program/optional-gradients.ts';
import type { Plan, Step } from '../program/plan.ts';
import type { ProgramOp, ValueId, ValueTable } from '../program/program.ts';
import { extentOf, sizeOf } from '../spec/shape.ts';
import { type Named, traceStream } from '../trace-log/stream.ts';
import {
  BackendProgram,
  type ComputableStep,
  type StepActions,
} from './backend/backend-program.ts';
import { changingAttrs } from './changing-attrs.ts';
import { lateMemory, RunMemory } from './late-memory.ts';
import { laterPart } from './later-parts.ts';
import { skipIfMissing } from './optional-operands.ts';
import type { Action, BindPlan } from './scope/action.ts';
import { identityOfView } from './scope/identity.ts';
import { isSameName } from './scope/name.ts';
import type { Scope, Slot } from './scope/scope.ts';
import { watched } from './watcher.ts';

interface ExecutableOptions {
  /** Whether a run that runs out of memory must fail before it writes to its inputs; control ops are exempt. */
  readonly atomic?: boolean;
  /** The backend; null for the device's kernels. */
  readonly backend?: Backend | null;
  /** Set for a simulated run, whose steps no observer sees. */
  readonly counter?: StepCounter | null;
}

/** Counts the steps of a simulated run, including those of regions. */
interface StepCounter {
  /** A region begins to run in these slots. */
  enter(slots: readonly Slot[]): void;
  step(): void;
  /** Returns the simulated action of an op. */
  control(step: Step, values: ValueTable, run: Action): Action;
}

/**
 * A plan bound to the kernels of its device. Everything known before a run is decided here once: kernels, sizes,
 * placement of values, and which values leave the scope after each op.
 */
export class Executable {
  readonly #actions: readonly Action[];
  /** The memory of the current run; null if its values are allocated one by one. */
  readonly #memory: RunMemory | null;
  readonly plan: Plan;
  readonly #values: ValueTable;
  /** Null if the program is just the list of actions. */
  readonly #backend: BackendProgram | null;
  readonly #counter: StepCounter | null;

  /** `gradients` are optional inputs; results computed from them are optional too. */
  constructor(
    plan: Plan,
    values: ValueTable,
    gradients: readonly ValueId[] = [],
    { atomic = false, backend = null, counter = null }: ExecutableOptions = {},
  ) {
    this.plan = plan;
    this.#values = values;
    this.#counter = counter;
    const ops = plan.steps.map(({ op }) => op);
    const optional = optionalGradientsOf(ops, gradients);
    const devices = new Set(
      plan.steps.flatMap(({ op }) => op.outputs.map((id) => values[id]!.device)),
    );
    // An arena belongs to one device.
    const device = devices.size === 1 ? [...devices][0] : undefined;
    const late = atomic ? lateMemory(plan, values) : null;
    const memory = new RunMemory(device, plan.arenaBytes, late);
    this.#memory = memory.isUsed ? memory : null;
    const binding = { values, optional, backend, counter };
    const bound = plan.steps.map((step, i) => {
      const results = { memory, blocks: late?.blockOf.get(i) };
      return counter
        ? compileCountedStep(step, results, binding, counter)
        : compileStep(step, results, binding);
    });
    const actions = bound.map(({ run }) => run);
    this.#actions = late ? actions.toSpliced(late.before, 0, () => memory.reserve()) : actions;
    const reserve = (step: number): void => {
      if (step === late?.before) memory.reserve();
    };
    this.#backend = backend && new BackendProgram(backend, plan, values, bound, reserve);
  }

  /** Runs a plan on several devices, awaiting transfers from a GPU. */
  async runAwaiting({ slots, scalars }: Pick<Scope, 'slots' | 'scalars'>): Promise<void> {
    const { steps } = this.plan;
    for (const [i, action] of this.#actions.entries()) {
      const id = leavingGpu(steps[i]!.op, this.#values);
      if (id !== undefined) await downloadAhead(this.#values[id]!, slots[id]!);
      const { op, at } = events;
      try {
        action(slots, scalars);
      } finally {
        events.op = op;
        events.at = at;
      }
    }
  }

  /** Runs a plan on an asynchronous backend. Runs are serialized. */
  async runAsync(scope: Pick<Scope, 'slots' | 'scalars'>): Promise<void> {
    const { op, at } = events;
    const memory = this.#memory;
    try {
      memory?.open();
      await this.#backend!.runAsync(scope);
    } finally {
      memory?.close();
      events.op = op;
      events.at = at;
    }
  }

  /** Runs one step of a plan without an arena. */
  runStep(step: number, { slots, scalars }: Pick<Scope, 'slots' | 'scalars'>): void {
    this.#actions[step]!(slots, scalars);
  }

  /** Runs the plan: inputs must be in their slots; outputs and kept values are in theirs afterwards. */
  run(scope: Pick<Scope, 'slots' | 'scalars'>): void {
    const { slots, scalars } = scope;
    const { op, at } = events;
    const memory = this.#memory;
    this.#counter?.enter(slots);
    try {
      memory?.open();
      if (this.#backend) this.#backend.runIn(scope);
      else for (const action of this.#actions) action(slots, scalars);
    } finally {
      // After an exception, the arena is freed with the last value in it.
      memory?.close();
      events.op = op;
      events.at = at;
    }
  }
}

/** Returns the operand of a step that copies from an asynchronously read device; undefined for any other step. */
function leavingGpu(
  { op: { target }, inputs }: ProgramOp,
  values: ValueTable,
): ValueId | undefined {
  const [id] = inputs;
  if (!target || target.expectLanded) return undefined;
  const { device } = values[id!]!;
  return isReadLater(device) && device.kind !== target.kind ? id : undefined;
}

const leaving = new WeakMap<Plan, boolean>();

/** Whether a run must await a GPU. */
export function leavesGpu(plan: Plan, values: ValueTable): boolean {
  let known = leaving.get(plan);
  if (known === undefined) {
    known = plan.steps.some((step) => leavingGpu(step.op, values) !== undefined);
    leaving.set(plan, known);
  }
  return known;
}

/** The memory of the results of one step. */
interface ResultMemory {
  readonly memory: RunMemory;
  /** The reserved block of each output, if it has one. */
  readonly blocks: readonly (number | null)[] | undefined;
}

interface Binding {
  readonly values: ValueTable;
  readonly optional: ReadonlySet<ValueId>;
  readonly backend: Backend | null;
  readonly counter: StepCounter | null;
}

function compileStep(step: Step, results: ResultMemory, binding: Binding): StepActions {
  const { values, optional } = binding;
  const { op, at } = step.op;
  const { action, computable } = compileOp(step, results, binding);
  const unlessLeftOut = skipIfMissing(step, values, optional, action);
  const run = watched(step, values, unlessLeftOut);
  const { frees } = step;
  const device = values[step.op.outputs[0] ?? step.op.inputs[0]!]?.device.name ?? 'host';
  const span = { kind: 'op', name: userName(op), device, at } as const;
  const named = (ids: readonly ValueId[]): Named[] =>
    ids.map((id) => ({ name: `%${id}`, meta: values[id]! }));
  const whole: Action = (slots, scalars) => {
    events.op = op.name;
    events.at = at;
    if (spans.active) spans.around(span, run, slots, scalars);
    else run(slots, scalars);
    if (traceStream.active) {
      traceStream.op(userName(op), device, named(step.op.inputs), named(step.op.outputs));
      for (const id of frees) traceStream.erase(`%${id}`);
    }
    for (let i = 0; i < frees.length; i++) slots[frees[i]!]!.release();
  };
  // A backend only computes kernels.
  return { step, run: whole, computable: run === action ? computable : null };
}

interface BoundOp {
  readonly action: Action;
  /** Null if a backend may not compute the step. */
  readonly computable: ComputableStep | null;
}

function compileCountedStep(
  step: Step,
  results: ResultMemory,
  binding: Binding,
  counter: StepCounter,
): StepActions {
  const { values, optional } = binding;
  const { action } = compileOp(step, results, binding);
  const run = skipIfMissing(step, values, optional, counter.control(step, values, action));
  const { frees } = step;
  const counted: Action = (slots, scalars) => {
    counter.step();
    run(slots, scalars);
    for (let i = 0; i < frees.length; i++) slots[frees[i]!]!.release();
  };
  return { step, run: counted, computable: null };
}

function compileOp(step: Step, results: ResultMemory, binding: Binding): BoundOp {
  const { kernel } = step.op.op;
  const { values, backend, counter } = binding;
  if (kernel.kind === 'control') {
    const bindPlan: BindPlan = (plan, own, gradients) =>
      new Executable(plan, own, gradients, { backend: synchronous(backend), counter });
    const compile = laterPart('compileControl');
    return { action: compile(kernel.form, step, values, bindPlan), computable: null };
  }
  if (kernel.kind === 'view') return { action: compileView(step, values), computable: null };
  return compileKernel(step, values, results, backend !== null);
}

/** Compiles a view, which shares its operand's holder and only changes the offset. */
function compileView({ op }: Pick<Step, 'op'>, values: ValueTable): Action {
  const [base, view] = [op.inputs[0]!, op.outputs[0]!];
  const shift = values[view]!.offset - values[base]!.offset;
  if (hasChangingAttrs(op.attrs)) return compileMovingView(op, values);
  if (op.op === nameGradientOp) {
    const [, name, other] = op.inputs as [ValueId, ValueId, ValueId];
    const apart = op.attrs.apart === true;
    return (slots) => {
      if (isSameName(slots[name]!, slots[other]!) === apart) return;
      const { holder, offset } = slots[base]!;
      slots[view]!.put(holder!.retain(), offset);
    };
  }
  if (isSameTensor(op)) {
    return (slots) => {
      const { holder, offset, identity, name } = slots[base]!;
      slots[view]!.put(holder!.retain(), offset, identity, name);
    };
  }
  return (slots) => {
    const { holder, offset } = slots[base]!;
    slots[view]!.put(holder!.retain(), offset + shift, identityOfView());
  };
}

/** Compiles a view whose offset each run computes. */
function compileMovingView({ op, inputs, outputs, attrs }: ProgramOp, values: ValueTable): Action {
  const [base, view] = [inputs[0]!, outputs[0]!];
  const { kernel } = op;
  invariant(kernel.kind === 'view', `${op.name} is not a view`);
  const metas = inputs.map((id) => values[id]!);
  const place = changingAttrs(attrs);
  const { shape, strides } = values[view]!;
  const room = extentOf(metas[0]!.shape, metas[0]!.strides) - extentOf(shape, strides);
  const shiftNow = () => kernel.view(metas, place.attrs).offset - metas[0]!.offset;
  let shift = shiftNow();
  return (slots, scalars) => {
    if (place.update(scalars)) shift = shiftNow();
    // Guards ensure this for a traced program; programs from files are not trusted.
    const isInside = Number.isInteger(shift) && shift >= 0 && shift <= room;
    invariant(isInside, `${op.name} outside of its tensor`);
    const { holder, offset } = slots[base]!;
    slots[view]!.put(holder!.retain(), offset + shift, identityOfView());
  };
}

function compileKernel(
  { op, reuses, places }: Step,
  values: ValueTable,
  { memory, blocks }: ResultMemory,
  mayBeComputed: boolean,
): BoundOp {
  const metas = (ids: readonly number[]): TensorMeta[] => ids.map((id) => values[id]!);
  // The result of an in-place write is its first operand.
  const written = op.op.inPlace ? op.inputs.slice(0, 1) : op.outputs;
  const outputMetas = metas(written);
  const { device } = values[written[0] ?? op.inputs[0]!]!;
  const numbers = changingAttrs(op.attrs);
  const bind = (attrs: Attrs) => device.prepare(op.op, metas(op.inputs), outputMetas, attrs);
  let launch: Launch = bind(numbers.attrs);
  const told = launchAttrs(op.op);
  const isTold = numbers.names.every((name) => told.has(name));
  const now = numbers.names.length > 0 ? numbers.attrs : undefined;
  const place = op.outputs.map((id, i) => {
    const reuse = reuses[i] ?? null;
    if (reuse !== null) return takeOver(id, reuse);
    return makeOutput(values[id]!, id, memory, places?.[i] ?? null, blocks?.[i] ?? null);
  });
  // Operand lists are allocated once per step and refilled per run; a launch doesn't keep them.
  const inputs = new Array<Slot>(op.inputs.length);
  const outputs = new Array<Slot>(written.length);
  const targets = writesOf(op);
  const span = { kind: 'kernel', name: op.op.name, device: device.name } as const;
  // A transfer emits its own copy event.
  const isKernel = op.op.kernel.kind !== 'transfer';
  const action: Action = (slots, scalars) => {
    for (let i = 0; i < inputs.length; i++) inputs[i] = slots[op.inputs[i]!]!;
    for (let i = 0; i < outputs.length; i++) outputs[i] = slots[written[i]!]!;
    for (let i = 0; i < place.length; i++) place[i]!(slots);
    // Attributes not passed at launch are part of the bound kernel.
    if (now && numbers.update(scalars) && !isTold) launch = bind({ ...now });
    if (spans.active) spans.around(span, launch, inputs, outputs, now);
    else launch(inputs, outputs, now);
    for (let i = 0; i < targets.length; i++) inputs[targets[i]!]!.holder!.version++;
    if (!isKernel) return;
    events.kernels++;
    if (events.active) events.emit({ kind: 'kernel', device: device.name, op: op.op.name });
  };
  if (!isKernel || !mayBeComputed) return { action, computable: null };
  // Not `numbers`, which records the values that the kernel was last bound with.
  const changing = changingAttrs(op.attrs);
  const computable: ComputableStep = {
    attrs: changing.attrs,
    place(slots, scalars) {
      for (let i = 0; i < place.length; i++) place[i]!(slots);
      changing.update(scalars);
    },
    finish(slots) {
      for (const target of targets) slots[op.inputs[target]!]!.holder!.version++;
    },
  };
  return { action, computable };
}

/** Returns the operand index of each in-place write, in order. */
function writesOf(given: ProgramOp): readonly number[] {
  const { op, inputs, parts } = given;
  if (!parts) return op.inPlace ? [0] : [];
  return leavesOf(given).flatMap((part) => {
    const operand = part.op.inPlace ? inputs.indexOf(part.inputs[0]!) : -1;
    return operand < 0 ? [] : [operand];
  });
}

function takeOver(id: number, reuse: number): (slots: readonly Slot[]) => void {
  // Two owners during the kernel: the operand's own reference is released with the step.
  return (slots) => {
    const { holder, offset } = slots[reuse]!;
    slots[id]!.put(holder!.retain(), offset);
  };
}

function makeOutput(
  { device, shape, dtype }: TensorMeta,
  id: number,
  memory: RunMemory,
  place: number | null,
  block: number | null,
): (slots: readonly Slot[]) => void {
  const bytes = sizeOf(shape) * device.elementBytes(dtype);
  if (place !== null) {
    return (slots) => slots[id]!.put(new Holder(device, bytes, memory.arena, place), 0);
  }
  if (block !== null) {
    return (slots) => slots[id]!.put(new Holder(device, bytes, memory.block(block), 0), 0);
  }
  return (slots) => slots[id]!.put(new Holder(device, bytes), 0);
}
