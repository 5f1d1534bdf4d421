import type { Device, Launch } from '../device/device.ts';
import { events } from '../memory/events.ts';
import { Holder } from '../memory/holder.ts';
import type { Attrs, AttrValue } from '../ops/define-op.ts';
import { isSymbolic } from '../ops/symbolic-number.ts';
import type { Plan, Step } from '../program/plan.ts';
import type { ValueTable } from '../program/program.ts';
import type { TensorMeta } from '../tensor/meta.ts';
import { sizeOf } from '../tensor/shape.ts';
import type { Action, BindPlan } from './action.ts';
import { compileControl } from './control/compile-control.ts';
import type { Scope, Slot } from './scope.ts';

/**
 * A plan bound to the kernels of its device. All that can be known before a run is decided here once:
 * kernels, sizes, where each value is put and which ones leave after each op.
 */
export class Executable {
  readonly #actions: readonly Action[];
  readonly plan: Plan;

  constructor(plan: Plan, values: ValueTable) {
    this.plan = plan;
    this.#actions = plan.steps.map((step) => compileStep(step, values));
  }

  /** Inputs must be in their slots. Afterwards outputs and kept values are in theirs. */
  run({ slots, scalars }: Pick<Scope, 'slots' | 'scalars'>): void {
    const { op, at } = events;
    try {
      for (const action of this.#actions) action(slots, scalars);
    } finally {
      events.op = op;
      events.at = at;
    }
  }
}

function compileStep(step: Step, values: ValueTable): Action {
  const { op, at } = step.op;
  const run = compileOp(step, values);
  const { frees } = step;
  return (slots, scalars) => {
    events.op = op.name;
    events.at = at;
    run(slots, scalars);
    for (let i = 0; i < frees.length; i++) slots[frees[i]!]!.release();
  };
}

const bindPlan: BindPlan = (plan, values) => new Executable(plan, values);

function compileOp(step: Step, values: ValueTable): Action {
  const { kernel } = step.op.op;
  if (kernel.kind === 'control') return compileControl(kernel.form, step, values, bindPlan);
  return kernel.kind === 'view' ? compileView(step, values) : compileKernel(step, values);
}

/** A view shares its operand's holder; only its place in it is its own. */
function compileView({ op }: Step, values: ValueTable): Action {
  const [base, view] = [op.inputs[0]!, op.outputs[0]!];
  const shift = values[view]!.offset - values[base]!.offset;
  return (slots) => {
    const { holder, offset } = slots[base]!;
    slots[view]!.put(holder!.retain(), offset + shift);
  };
}

function compileKernel({ op, reuses }: Step, values: ValueTable): Action {
  const metas = (ids: readonly number[]): TensorMeta[] => ids.map((id) => values[id]!);
  // A write in place puts its result where its first operand is.
  const written = op.op.inPlace ? op.inputs.slice(0, 1) : op.outputs;
  const outputMetas = metas(written);
  const { device } = outputMetas[0]!;
  const { attrs, update } = runAttrs(op.attrs);
  const launch: Launch = device.prepare(op.op, metas(op.inputs), outputMetas, attrs);
  const now = update ? attrs : undefined;
  const place = op.outputs.map((id, i) => placeOutput(device, values[id]!, id, reuses[i] ?? null));
  // The operand lists are made once per step and filled per run: a launch keeps neither.
  const inputs = new Array<Slot>(op.inputs.length);
  const outputs = new Array<Slot>(written.length);
  return (slots, scalars) => {
    for (let i = 0; i < inputs.length; i++) inputs[i] = slots[op.inputs[i]!]!;
    for (let i = 0; i < outputs.length; i++) outputs[i] = slots[written[i]!]!;
    for (let i = 0; i < place.length; i++) place[i]!(slots);
    update?.(scalars);
    launch(inputs, outputs, now);
    if (op.op.inPlace) outputs[0]!.holder!.version++;
    events.kernel(device.name, op.op.name);
  };
}

/** Attributes with plain numbers, and what brings those that change up to date before a launch. */
function runAttrs(given: Attrs): {
  readonly attrs: Attrs;
  readonly update: ((scalars: Float64Array) => void) | undefined;
} {
  const symbols = Object.entries(given).flatMap(([name, value]) =>
    isSymbolic(value) ? [{ name, symbol: value }] : [],
  );
  if (symbols.length === 0) return { attrs: given, update: undefined };
  const attrs: Record<string, AttrValue> = { ...given };
  for (const { name, symbol } of symbols) attrs[name] = symbol.value;
  const update = (scalars: Float64Array) => {
    for (const { name, symbol } of symbols) attrs[name] = scalars[symbol.id]!;
  };
  return { attrs, update };
}

function placeOutput(
  device: Device,
  meta: TensorMeta,
  id: number,
  reuse: number | null,
): (slots: readonly Slot[]) => void {
  if (reuse !== null) {
    // A second owner for the time of the kernel: the operand's own share is freed with the step.
    return (slots) => {
      const { holder, offset } = slots[reuse]!;
      slots[id]!.put(holder!.retain(), offset);
    };
  }
  const bytes = sizeOf(meta.shape) * device.elementBytes(meta.dtype);
  return (slots) => slots[id]!.put(new Holder(device, bytes), 0);
}
