import { gradEnabled } from '../../runtime/autograd/grad-mode.ts';
import { contiguousMeta, type TensorMeta } from '../../runtime/device/tensor-meta.ts';
import { invariant } from '../../runtime/errors/invariant.ts';
import type { ProgramBuilder } from '../../runtime/program/builder.ts';
import { callBackwardOp, callOp } from '../../runtime/program/control-ops.ts';
import {
  type DynamicCall,
  type GivenOperand,
  operandsOf,
} from '../../runtime/program/dynamic-call.ts';
import type { Region } from '../../runtime/program/program.ts';
import { dtypes } from '../../runtime/spec/dtype.ts';
import type { Tensor } from '../../runtime/tensor/tensor.ts';
import { type DifferentiateRegion, readOutside } from './append-control.ts';
import { recordControl } from './control-node.ts';
import type { Member } from './joined-call.ts';
import { SiteCall } from './site-call.ts';

/**
 * Appends a call with data-dependent shapes. If gradients are recorded and flow into it, its programs are
 * differentiated as they are made, and one node is recorded. Returns all results; the tape is the last.
 * `keepsGradients`: an op of the program is the backward of the given call.
 */
export function appendCall(
  builder: ProgramBuilder,
  call: DynamicCall,
  inputs: readonly Tensor[],
  results: readonly TensorMeta[],
  differentiate: DifferentiateRegion,
  keepsGradients = false,
): Tensor[] {
  const tape = contiguousMeta({ dtype: 'bool', shape: [0] }, inputs[0]!.device);
  const metas = [...results, tape];
  const attrs = { of: call.name };
  const needs = inputs.map((input) => input.requiresGrad);
  if (!gradEnabled() || !needs.includes(true)) {
    return builder.control(callOp, inputs, attrs, { call }, metas);
  }
  const kept = keepsGradients && call instanceof RecordedCall ? call.needs : [];
  const all = needs.map((each, i) => each || kept[i] === true);
  const recorded = new RecordedCall(call, all, differentiate);
  const outputs = builder.control(callOp, inputs, attrs, { call: recorded }, metas);
  const joint = recorded.at(call.sample).joint!;
  const { gradOutputs } = joint;
  // The elements of a list are separate outputs of the program, but one result.
  const flows = call.list
    ? [gradOutputs.some((id) => id !== null)]
    : gradOutputs.map((id) => id !== null);
  if (!flows.includes(true)) return outputs;
  const operands = operandsOf(call.forms, call.sample);
  const outside = readOutside(joint);
  const read = [...outside.operands].map((input) => inputs[operands[input]!]!);
  recordControl(inputs, outputs, flows, {
    name: call.name,
    backward: callBackwardOp,
    inside: { call: recorded },
    carried: 0,
    read: [...new Set([...read, ...[...outside.results].map((i) => outputs[call.list ? 0 : i]!)])],
  });
  return outputs;
}

/** A recorded call: gradients flow through it to some of its operands. */
class RecordedCall implements DynamicCall {
  readonly plain: DynamicCall;
  /** Whether a gradient may flow to each operand. */
  readonly needs: readonly boolean[];
  readonly differentiate: DifferentiateRegion;

  constructor(call: DynamicCall, needs: readonly boolean[], differentiate: DifferentiateRegion) {
    this.plain = call instanceof RecordedCall ? call.plain : call;
    this.needs = needs;
    this.differentiate = differentiate;
  }

  get name() {
    return this.plain.name;
  }

  get forms() {
    return this.plain.forms;
  }

  get dynamic() {
    return this.plain.dynamic;
  }

  get list() {
    return this.plain.list;
  }

  get apart() {
    return this.plain.apart;
  }

  get sample() {
    return this.plain.sample;
  }

  at(operands: readonly GivenOperand[]): Region {
    const { program } = this.plain.at(operands);
    const needs = operandsOf(this.forms, operands).map((operand) => this.needs[operand]!);
    const floating = program.outputs.map((id) => dtypes[program.values[id]!.dtype].floating);
    return { program, joint: this.differentiate(program, needs, floating) };
  }
}

/** Returns a call that a program can repeat; undefined if it can't be repeated. */
export function siteOf(call: DynamicCall): SiteCall | undefined {
  const plain = call instanceof RecordedCall ? call.plain : call;
  return plain instanceof SiteCall ? plain : undefined;
}

/** Returns a call whose members are differentiated by a backward in the program: gradients flow as in that backward. */
export function recordedAs(
  call: SiteCall,
  members: readonly Member[],
  calls: readonly (DynamicCall | undefined)[],
): DynamicCall {
  const needs = call.forms.map(() => false);
  let differentiate: DifferentiateRegion | undefined;
  members.forEach(({ wires }, i) => {
    const recorded = calls[i];
    if (!(recorded instanceof RecordedCall)) return;
    differentiate = recorded.differentiate;
    wires.forEach((wire, k) => {
      if (wire.from === 'outside') needs[wire.operand] ||= recorded.needs[k]!;
    });
  });
  invariant(differentiate, 'a call that is differentiated was recorded');
  return new RecordedCall(call, needs, differentiate);
}
