import type { Program } from '../../runtime/program/program.ts';
import { Subgraph } from '../../runtime/run-program/run-program.ts';
import { sizeOf } from '../../runtime/spec/shape.ts';
import { type CompileOptions, defaultCompileOptions } from '../../src/compile/compilation.ts';
import { memory, type Tensor, tensor, tidy } from '../../src/index.ts';
import { compileSubgraph } from '../../src/pipeline.ts';
import { randomInts } from '../plan/random-program.ts';

export interface Ran {
  /** Bits of the results, then of the inputs, which the program may write. */
  readonly bytes: readonly Buffer[];
  readonly peak: number;
  readonly planned: Subgraph['planned'];
}

const bytesOf = (each: Tensor): Buffer => {
  const data = each.dataSync();
  return Buffer.from(data.buffer, data.byteOffset, data.byteLength);
};

/** Numbers up to `largest`, of either sign, that depend on the seed alone. */
function inputsOf({ values, inputs }: Program, seed: number, largest: number): Tensor[] {
  const below = randomInts(seed + 7);
  return inputs.map((id) => {
    const { shape, dtype } = values[id]!;
    const numbers = Array.from(
      { length: sizeOf(shape) },
      () => ((below(2001) - 1000) / 1000) * largest,
    );
    return tidy(() => tensor(numbers, { shape: [...shape] }).to(dtype));
  });
}

/** Compiles a program without these passes, and runs it on random inputs. */
export function runWithout(
  passes: readonly string[],
  given: Program,
  { seed, largest }: { readonly seed: number; readonly largest: number },
): Ran {
  const wanted = {
    needsGrad: given.inputs.map(() => false),
    differentiable: given.outputs.map(() => false),
  };
  const without = new Set(passes) as CompileOptions['without'];
  const options = { ...defaultCompileOptions, without, verify: true };
  const { planned } = compileSubgraph(given, wanted, options);
  const inputs = inputsOf(given, seed, largest);
  memory.reset('cpu');
  const before = memory.stats('cpu').allocated;
  const results = new Subgraph(planned).run(inputs);
  const peak = memory.stats('cpu').peakAllocated - before;
  const bytes = [...results, ...inputs].map(bytesOf);
  for (const each of [...results, ...inputs]) each.dispose();
  return { bytes, peak, planned };
}
