/** A random program, eagerly and captured: everything that it leaves, to the bit. */

import { Captured } from '../../src/dispatch/captured-function.ts';
import type { MemoryChoice, Tensor } from '../../src/index.ts';
import * as lib from '../../src/index.ts';
import { memorySwitches } from '../../src/programs/memory-options.ts';
import { Choices } from './choices.ts';
import { functionText, type RandomProgram } from './random-program.ts';
import { bitsOf, type Outcome } from './run-steps.ts';

/** Presets, switches, budgets and preferences, as the seed says. */
export function choiceFor(seed: number): MemoryChoice {
  const choices = new Choices(seed + 7_000_000);
  switch (choices.below(8)) {
    case 5:
    case 6:
    case 7:
      // Slices that cost time are used, too.
      return { prefer: 'bytes' };
    case 0:
      return choices.of(['cleaned', 'inputsCleaned', 'beforeUnusedValues'] as const);
    case 1:
    case 2:
      return { [choices.of(memorySwitches)]: false };
    case 3:
      return { budget: choices.of([0, 20_000, 60_000, 200_000]) };
    default:
      return {};
  }
}

/** How an input lies in memory. */
function laidOut(choices: Choices, batch: number, width: number): Tensor {
  return lib.tidy(() => {
    switch (choices.below(5)) {
      case 0:
        return lib.randn([width, batch]).transpose(0, 1);
      case 1:
        return lib.randn([batch, 2 * width]).narrow(1, 3, width);
      case 2:
        return lib.randn([1, width]).expand([batch, width]);
      default:
        return lib.randn([batch, width]);
    }
  });
}

/** What a caller does with the results of a forward: gradients come in several layouts. */
function lossOf(results: readonly Tensor[], weight: Tensor, choices: Choices): Tensor {
  const parts = results.map((result) => {
    if (!result.requiresGrad) return null;
    switch (result.rank > 1 ? choices.below(4) : 0) {
      case 0:
        return result.mean();
      case 1:
        return result.transpose(0, 1).mul(result.transpose(0, 1)).mean();
      case 2:
        return result
          .narrow(0, 1, result.shape[0]! - 1)
          .sum()
          .mul(0.01);
      default:
        return result.mul(0.3).sum(0).tanh().sum();
    }
  });
  return parts.filter((part) => part !== null).reduce((a, b) => a.add(b), weight.mean());
}

/** `choice` null: eagerly. */
export function runRandom(
  program: RandomProgram,
  seed: number,
  choice: MemoryChoice | null,
): Outcome {
  lib.seed(seed);
  const choices = new Choices(seed + 1_000_000);
  const ws = program.parameters.map((shape) =>
    lib.tidy(() => lib.randn(shape).mul(0.2)).requiresGrad_(),
  );
  const buffer = lib.zeros([3]);
  const optimizer = choices.chance(0.5)
    ? new lib.optim.SGD(ws, { lr: 0.05, momentum: 0.9 })
    : new lib.optim.AdamW(ws, { lr: 1e-2 });
  const make = new Function('lib', 'world', functionText(program));
  const fn = make(lib, { ws, buffer, optimizer }) as (x: Tensor, z: Tensor) => Tensor[];
  const captured = choice && new Captured(fn as Captured['fn'], { memory: choice });
  const bits = new Map<string, string>();
  const { batch, width, isStep } = program;
  for (let i = 0; i < 3; i++) {
    const inputs = [laidOut(choices, batch, width), laidOut(choices, batch, width)] as const;
    const results = captured
      ? (captured.call(undefined, inputs) as Tensor[])
      : lib.tidy(() => fn(...inputs));
    void captured?.ready();
    results.forEach((result, r) => {
      bits.set(`result ${r} of call ${i}`, bitsOf(result));
    });
    if (!isStep) {
      lib.tidy(() => lossOf(results, ws[0]!, choices).backward());
      ws.forEach((w, k) => {
        bits.set(`gradient ${k} of call ${i}`, w.grad ? bitsOf(w.grad) : 'none');
      });
      optimizer.step();
      optimizer.zeroGrad();
    }
    inputs.forEach((input, k) => {
      bits.set(`input ${k} of call ${i}`, bitsOf(input));
    });
    for (const each of [...results, ...inputs]) each.dispose();
  }
  ws.forEach((w, k) => {
    bits.set(`parameter ${k}`, bitsOf(w));
    bits.set(`last gradient ${k}`, w.grad ? bitsOf(w.grad) : 'none');
  });
  for (const [name, tensors] of Object.entries(optimizer.stateDict().state)) {
    tensors.forEach((own, k) => {
      bits.set(`${name} ${k}`, bitsOf(own));
    });
  }
  bits.set('buffer', bitsOf(buffer));
  const next = lib.randn([1]);
  bits.set('next random number', bitsOf(next));
  optimizer.zeroGrad();
  for (const each of [next, buffer, optimizer, ...ws]) each.dispose();
  const { breaks = [], fallbacks = [] } = captured?.stats() ?? {};
  const exceptions = [
    ...breaks.map(({ detail }) => `break: ${detail}`),
    ...fallbacks.map(({ why }) => why),
  ];
  return { bits, leaked: 0, parts: captured?.parts ?? [], exceptions };
}
