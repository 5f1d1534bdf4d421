/** The same training steps eagerly and captured, and everything that they leave, to the bit. */

import { Captured } from '../../src/dispatch/captured-function.ts';
import { type MemoryChoice, memory, randn, type Tensor, tidy } from '../../src/index.ts';
import type { CompiledPart } from '../../src/programs/compiled-part.ts';
import { buildTraining, type TrainingCase } from './training-case.ts';

export const stepsOfCase = 3;

export interface Outcome {
  /** What the steps have left, by name, as the bits of its elements. */
  readonly bits: ReadonlyMap<string, string>;
  readonly leaked: number;
  /** Of a captured run. */
  readonly parts: readonly CompiledPart[];
  /** Why parts of it run as ordinary JavaScript, or as several programs. */
  readonly exceptions: readonly string[];
}

/** `choice` null: eagerly. */
export function runSteps(given: TrainingCase, choice: MemoryChoice | null): Outcome {
  const before = memory.stats('cpu').allocated;
  const training = buildTraining(given);
  const captured =
    choice === null ? null : new Captured(training.step as Captured['fn'], { memory: choice });
  const bits = new Map<string, string>();
  for (let i = 0; i < stepsOfCase; i++) {
    const batch = training.batch(i);
    const run = () =>
      captured ? (captured.call(undefined, batch) as Tensor) : training.step(...batch);
    const loss = captured ? run() : tidy(run);
    bits.set(`loss ${i}`, bitsOf(loss));
    // Each program runs by its first plan once, and then by the final one.
    void captured?.ready();
    for (const each of [loss, ...batch]) each.dispose();
  }
  const { modules, optimizer } = training;
  modules.forEach((module, m) => {
    for (const [name, value] of Object.entries(module.stateDict())) {
      bits.set(`module ${m} ${name}`, bitsOf(value));
    }
  });
  optimizer.parameters.forEach((own, i) => {
    bits.set(`gradient ${i}`, own.grad ? bitsOf(own.grad) : 'none');
  });
  const { state, counts, groups } = optimizer.stateDict();
  for (const [name, tensors] of Object.entries(state)) {
    tensors.forEach((own, i) => {
      bits.set(`${name} ${i}`, bitsOf(own));
    });
  }
  bits.set('counts', JSON.stringify([counts, groups]));
  const next = randn([1]);
  bits.set('next random number', bitsOf(next));
  next.dispose();
  optimizer.zeroGrad();
  for (const each of [optimizer, ...modules]) each.dispose();
  const leaked = memory.stats('cpu').allocated - before;
  const { breaks = [], fallbacks = [] } = captured?.stats() ?? {};
  const exceptions = [
    ...breaks.flatMap(({ reason, detail }) => (reason === 'forced' ? [] : [`break: ${detail}`])),
    ...fallbacks.map(({ why }) => why),
  ];
  return { bits, leaked, parts: captured?.parts ?? [], exceptions };
}

/** The bytes of its elements. */
export function bitsOf(value: Tensor): string {
  const { buffer, byteOffset, byteLength } = value.dataSync() as Float32Array;
  return Buffer.from(buffer, byteOffset, byteLength).toString('base64');
}

/** Names of what differs. */
export function differences(a: Outcome, b: Outcome): string[] {
  const names = new Set([...a.bits.keys(), ...b.bits.keys()]);
  return [...names].filter((name) => a.bits.get(name) !== b.bits.get(name));
}

/** Parts whose last run had another peak than its plan says. */
export function mispredicted({ parts }: Outcome): string[] {
  return parts.flatMap(({ record: { peakBytes, planned } }) => {
    if (peakBytes === undefined || !planned) return [];
    const { predicted } = planned.forward;
    return peakBytes === predicted.peakBytes
      ? []
      : [`predicted ${predicted.peakBytes} bytes, measured ${peakBytes}`];
  });
}
