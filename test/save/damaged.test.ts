/** Files that somebody else has made: whatever is wrong with them is a named error, and no memory stays allocated. */

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { load, memory, Tensor, TostaticError, tensor, tidy } from '../../runtime/index.ts';
import type { LoadedProgram } from '../../runtime/save/loaded-program.ts';
import { save, toStatic } from '../../src/index.ts';
import { runs } from '../generated/runs.ts';
import { callsOfWrongKinds } from './exercise.ts';
import { countSpots, fileOf, mutate, mutationOf, partsOf, summed } from './mutations.ts';
import { type SampleFile, sampleFiles } from './sample-files.ts';
import { tryLoad } from './try-load.ts';

const samples: (SampleFile & { readonly file: Uint8Array })[] = [];
for (const sample of sampleFiles) samples.push({ ...sample, file: await sample.make() });
const { file } = samples[0]!;

/** 1, and the seeds that have found a fault; `GENERATED_RUNS` tries another one each time. */
const seeds = [1, 7, 99];

/** Runs the program with its own calls and with others; anything it throws is an error for the user. */
function runAll(program: LoadedProgram, calls: readonly (readonly unknown[])[]): void {
  for (const args of [...calls, ...callsOfWrongKinds()]) {
    tidy(() => {
      try {
        const result = program(...args);
        for (const value of Array.isArray(result) ? result : [result]) {
          if (!(value instanceof Tensor) || !value.requiresGrad || value.isLeaf) continue;
          value.sum().backward(undefined, { retainGraph: true });
        }
      } catch (error) {
        expect(error).toBeInstanceOf(TostaticError);
      }
      for (const arg of args) if (arg instanceof Tensor) arg.grad = null;
    });
  }
}

describe('a damaged file', () => {
  it.each(samples)('loads when nothing is wrong: $name', async ({ file }) => {
    expect(await tryLoad(file)).toBe('loaded');
    const { header, data } = partsOf(file);
    expect(await tryLoad(fileOf(JSON.stringify(header), data))).toBe('loaded');
  });

  it('is found by its checksum, whichever bytes differ', async () => {
    const { length } = file;
    const property = fc.asyncProperty(
      fc.nat(length - 1),
      fc.integer({ min: 1, max: 255 }),
      async (at, change) => {
        const bytes = file.slice();
        bytes[at]! ^= change;
        expect(await tryLoad(bytes)).toMatch(/^load: /);
      },
    );
    await fc.assert(property, runs(60));
  });

  it('is found when it ends too early', async () => {
    for (const length of [0, 7, 23, 24, 100, file.length >> 1, file.length - 1]) {
      expect(await tryLoad(file.slice(0, length))).toMatch(/^load: /);
      if (length > 24) expect(await tryLoad(summed(file.slice(0, length)))).toMatch(/^load: /);
    }
  });

  it.each(samples)(
    'is refused or harmless when its header is changed anywhere: $name',
    { timeout: 600_000 },
    async ({ file, calls }) => {
      const { header, data } = partsOf(file);
      const { numRuns = 0, seed } = runs(150);
      const tried = seed === 1 ? seeds : [seed];
      let refused = 0;
      const property = fc.asyncProperty(mutationOf(countSpots(header)), async (mutation) => {
        const bytes = fileOf(JSON.stringify(mutate(header, mutation)), data);
        const found = await tryLoad(
          bytes,
          calls ? (program) => runAll(program, calls()) : undefined,
        );
        if (found !== 'loaded') refused++;
      });
      for (const own of tried) {
        await fc.assert(property, own === undefined ? { numRuns } : { numRuns, seed: own });
      }
      expect(refused).toBeGreaterThan((tried.length * numRuns) / 2);
    },
  );
});

type Json = Record<string, unknown>;

/** The header with every object that has the key changed. */
function changed(header: object, key: string, change: (holder: Json) => void): string {
  return JSON.stringify(structuredClone(header), (_, value: unknown) => {
    if (typeof value === 'object' && value !== null && Object.hasOwn(value, key)) {
      change(value as Json);
    }
    return value;
  });
}

describe('what a damaged file says', () => {
  const named = (name: string) => samples.find((sample) => sample.name === name)!;
  const effects = named('decisions, text, objects and effects');

  it('names an operator, an operand and a value that are not there', async () => {
    const { header, data } = partsOf(file);
    const program = (change: (steps: Json[]) => void) => {
      const copy = structuredClone(header) as {
        program: { graphs: { forward: { steps: Json[] } }[] };
      };
      change(copy.program.graphs.at(-1)!.forward.steps);
      return tryLoad(fileOf(JSON.stringify(copy), data));
    };
    expect(await program(([step]) => Object.assign(step!, { op: 'eval' }))).toMatch(
      /graphs\[\d+\]\.forward\.steps\[0\]\.op[\s\S]*"eval"[\s\S]*name of an operator/,
    );
    expect(await program(([, step]) => Object.assign(step!, { inputs: [0, 0] }))).toMatch(
      /graph \d+, forward, step 1[\s\S]*(refuses|result)/,
    );
    expect(await program(([, step]) => Object.assign(step!, { frees: [99999] }))).toMatch(
      /frees\[0\]/,
    );
    expect(await tryLoad(new TextEncoder().encode('{"not": "ours"}'.padEnd(64)))).toMatch(
      /not a tostatic file/,
    );
  });

  it.each(['float23', '', 5, true, null, []])('names a dtype that is none: %j', async (dtype) => {
    const { header, data } = partsOf(effects.file);
    const text = changed(header, 'attrs', ({ attrs }) => {
      const own = attrs as Json;
      if (Object.hasOwn(own, 'dtype')) own.dtype = dtype;
    });
    expect(text).not.toBe(JSON.stringify(header));
    expect(await tryLoad(fileOf(text, data))).toMatch(/^load: [\s\S]*dtype|attrs/);
  });

  it.each(['set', 'delete', 'fill', 'dispose'])(
    'refuses calls in which an effect would %s what is no object',
    async (kind) => {
      const { header, data } = partsOf(effects.file);
      const text = changed(header, 'guards', (entry) => {
        const path = kind === 'set' || kind === 'delete' ? ['none', 'x'] : ['none'];
        const effect = { kind, place: ['argument', 1, ...path], from: 'end', items: [] };
        entry.effects = [{ ...effect, value: { constant: 1 } }];
      });
      const before = memory.stats('cpu').allocated;
      const program = (await load(fileOf(text, data))) as LoadedProgram;
      tidy(() => {
        const run = () => program(...effects.calls!()[0]!);
        expect(run).toThrow(/no program was saved for these arguments[\s\S]*none is undefined/);
      });
      program.dispose();
      expect(memory.stats('cpu').allocated).toBe(before);
    },
  );

  it.each([
    ['groups', 2 ** 31, /operands that it refuses/],
    ['stride', [0, 0], /stride=\[0,0\][\s\S]*two whole numbers from 1 on/],
    ['dilation', [0], /dilation=\[0\][\s\S]*two whole numbers from 1 on/],
    ['padding', 'x', /padding="x"[\s\S]*two whole numbers from 0 on/],
  ] as const)(
    'refuses windows that no kernel could step through: %s %j',
    async (name, value, said) => {
      const { header, data } = partsOf(named('kernels of many kinds').file);
      const text = changed(header, 'attrs', ({ attrs }) => {
        if (Object.hasOwn(attrs as Json, name)) (attrs as Json)[name] = value;
      });
      expect(await tryLoad(fileOf(text, data))).toMatch(said);
    },
  );

  it('names a name that two parts of the state have', async () => {
    const { header, data } = partsOf(file);
    const text = changed(header, 'state', ({ state }) => {
      for (const entry of state as Json[]) entry.name = 'one';
    });
    expect(await tryLoad(fileOf(text, data))).toMatch(/state\[1\]\.name[\s\S]*a name of its own/);
  });

  it('asks for no memory that the file does not have', async () => {
    const { header, data } = partsOf(file);
    const copy = structuredClone(header) as { tensors: { storages: { elements: number }[] } };
    copy.tensors.storages[0]!.elements = 2 ** 40;
    expect(await tryLoad(fileOf(JSON.stringify(copy), data))).toMatch(/storages\[0\]/);
  });
});

describe('a file of deep or shared parts', () => {
  const empty = '"tensors":{"storages":[],"tensors":[]}';
  const none = new Uint8Array(0);
  const nested = (open: string, inner: string, close: string, levels: number) =>
    `${open.repeat(levels)}${inner}${close.repeat(levels)}`;

  it.each([
    ['lists', '{"list":[', ']}'],
    ['objects', '{"object":[["a",', ']]}'],
    ['brackets', '[', ']'],
  ])('is refused by name when %s are nested too deeply', async (_what, open, close) => {
    for (const levels of [1001, 5000, 200_000]) {
      const text = `{"value":${nested(open, '1', close, levels)},${empty}}`;
      expect(await tryLoad(fileOf(text, none))).toMatch(/the header[\s\S]*1000 nested levels/);
    }
  });

  it('has text with brackets, which nest nothing', async () => {
    const text = '["\\'.repeat(3000);
    const bytes = await save({ text });
    expect(await load(bytes)).toEqual({ text });
  });

  it('is refused by name when expressions of sizes are nested too deeply', async () => {
    const { file } = samples.find(({ name }) => name === 'a program for every size')!;
    const { header, data } = partsOf(file);
    for (const [levels, message] of [
      [400, /^loaded$/],
      [5000, /the header/],
    ] as const) {
      let count = 0;
      const text = changed(header, '$size', (hole) => {
        if (count++ === 0) hole.$size = '@';
      }).replace('"@"', nested('["+",0,', '{"size":0}', ']', levels));
      expect(await tryLoad(fileOf(text, data))).toMatch(message);
    }
  });

  /** A file of nested branches, each of which has the branch inside it twice. */
  async function sharedRegions(levels: number): Promise<Uint8Array> {
    const f = toStatic((x: Tensor) => (x.sum().itemSync() > 0 ? x.mul(2) : x.neg()), {
      fullGraph: true,
    });
    tidy(() => void f(tensor([1, 2]).requiresGrad_()));
    const { header, data } = partsOf(await save(f));
    const { program } = header as {
      program: { graphs: object[]; entries: { graph: number }[] };
    };
    const [entry] = program.entries as [{ graph: number }];
    const outer = program.graphs[entry.graph]!;
    for (let i = 0; i < levels; i++) {
      const text = changed(outer, 'regions', (step) => {
        step.regions = [entry.graph, entry.graph];
      });
      entry.graph = program.graphs.push(JSON.parse(text) as object) - 1;
    }
    return fileOf(JSON.stringify(header), data);
  }

  it('loads and runs in time that grows as the file does, though regions share graphs', async () => {
    const bytes = await sharedRegions(150);
    const begin = performance.now();
    const ran = await tryLoad(bytes, (program) => {
      tidy(() => {
        const x = tensor([3, 4]).requiresGrad_();
        const y = program(x) as Tensor;
        y.sum().backward();
        expect([...y.dataSync(), ...x.grad!.dataSync()]).toEqual([6, 8, 2, 2]);
        x.grad = null;
      });
    });
    expect(ran).toBe('loaded');
    // With a step per path to a region it would be 2 ** 150 of them.
    expect(performance.now() - begin).toBeLessThan(20_000);
  });

  it('is refused by name when regions are nested too deeply', async () => {
    for (const levels of [220, 1000]) {
      expect(await tryLoad(await sharedRegions(levels))).toMatch(/regions nested at most 200 deep/);
    }
  });
});
