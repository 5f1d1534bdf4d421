/** Files that somebody else has made: whatever is wrong with them is a named error, and nothing is left behind. */

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { crc32 } from '../../runtime/save/crc32.ts';
import type { LoadedProgram } from '../../runtime/save/loaded-program.ts';
import {
  DataError,
  load,
  memory,
  nn,
  ones,
  save,
  type Tensor,
  TostaticError,
  tensor,
  tensorSpec,
  tidy,
  toStatic,
} from '../../src/index.ts';

/** A file with every part: parameters, regions, backward, numbers, objects, an inputSpec. */
async function exampleFile(): Promise<Uint8Array> {
  const layer = new nn.Linear(3, 2);
  const f = toStatic(
    (x: Tensor, factor: number) => {
      let y = layer.forward(x).mul(factor);
      if (y.sum().itemSync() > 0) y = y.mul(2);
      let n = 0;
      while (y.abs().sum().itemSync() < 9) {
        y = y.mul(3);
        n++;
      }
      console.debug('turns', n);
      return { y, both: [y.add(1), x], n };
    },
    { fullGraph: true },
  );
  const { debug } = console;
  console.debug = () => {};
  try {
    for (const factor of [2, 3]) tidy(() => void f(tensor([[1, 2, 3]]), factor));
    return await save(f);
  } finally {
    console.debug = debug;
  }
}

const file = await exampleFile();
const view = new DataView(file.buffer);
const headerBytes = Number(view.getBigUint64(16, true));
const header = JSON.parse(new TextDecoder().decode(file.subarray(24, 24 + headerBytes))) as object;

/** The same file with another header, and a checksum that fits it. */
function withHeader(changed: unknown, data = file.subarray(24 + headerBytes)): Uint8Array {
  const text = new TextEncoder().encode(JSON.stringify(changed));
  const begin = Math.ceil((24 + text.length) / 64) * 64;
  const bytes = new Uint8Array(begin + data.length).fill(0x20, 24, begin);
  bytes.set(file.subarray(0, 24));
  bytes.set(text, 24);
  bytes.set(data, begin);
  new DataView(bytes.buffer).setBigUint64(16, BigInt(begin - 24), true);
  return summed(bytes);
}

function summed(bytes: Uint8Array): Uint8Array {
  new DataView(bytes.buffer).setUint32(12, crc32(bytes.subarray(16)), true);
  return bytes;
}

/** Loads, and gives back; a DataError as its message. */
async function tryLoad(bytes: Uint8Array): Promise<string> {
  const before = memory.stats('cpu').allocated;
  try {
    const program = (await load(bytes)) as LoadedProgram;
    program.dispose();
    return 'loaded';
  } catch (error) {
    expect(error).toBeInstanceOf(DataError);
    return (error as Error).message;
  } finally {
    expect(memory.stats('cpu').allocated).toBe(before);
  }
}

interface Spot {
  readonly holder: Record<string, unknown>;
  readonly key: string;
}

/** Every place in a header, in order. */
function* spotsIn(value: unknown): Generator<Spot> {
  if (typeof value !== 'object' || value === null) return;
  for (const key of Object.keys(value)) {
    yield { holder: value as Record<string, unknown>, key };
    yield* spotsIn(Reflect.get(value, key));
  }
}

const spots = [...spotsIn(header)].length;

describe('a damaged file', () => {
  it('loads when nothing is wrong', async () => {
    expect(await tryLoad(file)).toBe('loaded');
    expect(await tryLoad(withHeader(header))).toBe('loaded');
  });

  it('is found by its checksum, whichever bytes differ', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.nat(file.length - 1),
        fc.integer({ min: 1, max: 255 }),
        async (at, change) => {
          const bytes = file.slice();
          bytes[at]! ^= change;
          expect(await tryLoad(bytes)).toMatch(/^load: /);
        },
      ),
      { numRuns: 60 },
    );
  });

  it('is found when it ends too early', async () => {
    for (const length of [0, 7, 23, 24, 100, headerBytes, file.length - 1]) {
      expect(await tryLoad(file.slice(0, length))).toMatch(/^load: /);
      if (length > 24) expect(await tryLoad(summed(file.slice(0, length)))).toMatch(/^load: /);
    }
  });

  it('is refused or harmless when any part of its header is another one', async () => {
    const other = fc.oneof(
      fc.constantFrom(
        null,
        -1,
        0,
        1,
        2,
        64,
        2 ** 31,
        2 ** 53,
        1e300,
        '',
        'x',
        'cond',
        'matmul',
        true,
      ),
      fc.constantFrom([], {}, [[]], [0, 0], ['state', 0], { place: ['argument', 0, '__proto__'] }),
    );
    let refused = 0;
    await fc.assert(
      fc.asyncProperty(fc.nat(spots - 1), other, async (spot, value) => {
        const copy = structuredClone(header);
        const { holder, key } = [...spotsIn(copy)][spot]!;
        holder[key] = value;
        if ((await tryLoad(withHeader(copy))) !== 'loaded') refused++;
      }),
      { numRuns: 150 },
    );
    expect(refused).toBeGreaterThan(75);
  });

  it('is refused when a part of its header is missing or swapped with another', async () => {
    await fc.assert(
      fc.asyncProperty(fc.nat(spots - 1), fc.nat(spots - 1), async (one, two) => {
        const copy = structuredClone(header);
        const all = [...spotsIn(copy)];
        const [a, b] = [all[one]!, all[two]!];
        const value = a.holder[a.key];
        if (one === two) delete a.holder[a.key];
        else {
          a.holder[a.key] = structuredClone(b.holder[b.key]);
          b.holder[b.key] = structuredClone(value);
        }
        await tryLoad(withHeader(copy));
      }),
      { numRuns: 100 },
    );
  });

  it('is refused or harmless when a program for every size is another one', async () => {
    const f = toStatic((x: Tensor) => x.mul(x.shape[0]!).relu().sum(1), {
      fullGraph: true,
      inputSpec: [tensorSpec(['n', 3])],
    });
    tidy(() => void f(tensor([[1, 2, 3]]).requiresGrad_()));
    const bytes = await save(f);
    const length = Number(new DataView(bytes.buffer).getBigUint64(16, true));
    const text = new TextDecoder().decode(bytes.subarray(24, 24 + length));
    const sized = JSON.parse(text) as { program: { everySize: unknown } };
    const places = [...spotsIn(sized.program.everySize)].length;
    const other = fc.constantFrom(
      ...[null, -1, 0, 2, 0.5, 2 ** 53, '', '*', 'x', [], {}, { size: 9 }, ['/', 1, 0]],
    );
    let refused = 0;
    await fc.assert(
      fc.asyncProperty(fc.nat(places - 1), other, async (spot, value) => {
        const copy = structuredClone(sized);
        const { holder, key } = [...spotsIn(copy.program.everySize)][spot]!;
        holder[key] = value;
        const file = withHeader(copy, bytes.subarray(24 + length));
        const found = await tryLoad(file);
        if (found !== 'loaded') {
          refused++;
          return;
        }
        const program = (await load(file)) as LoadedProgram;
        tidy(() => {
          try {
            program(ones([5, 3]));
          } catch (error) {
            expect(error).toBeInstanceOf(TostaticError);
          }
        });
        program.dispose();
      }),
      { numRuns: 100 },
    );
    expect(refused).toBeGreaterThan(40);
  });

  it('names what is wrong and where', async () => {
    const program = (change: (copy: never) => void) => {
      const copy = structuredClone(header);
      change(copy as never);
      return tryLoad(withHeader(copy));
    };
    type Header = { program: { graphs: { forward: { steps: Record<string, unknown>[] } }[] } };
    const change = (step: Record<string, unknown>, key: string, value: unknown) => {
      step[key] = value;
    };
    const last = (copy: Header) => copy.program.graphs.at(-1)!.forward.steps;
    expect(await program((copy) => change(last(copy)[0]!, 'op', 'eval'))).toMatch(
      /graphs\[\d+\]\.forward\.steps\[0\]\.op[\s\S]*"eval"[\s\S]*name of an operator/,
    );
    expect(await program((copy) => change(last(copy)[1]!, 'inputs', [0, 0]))).toMatch(
      /graph \d+, forward, step 1[\s\S]*(refuses|result)/,
    );
    expect(await program((copy) => change(last(copy)[1]!, 'frees', [99999]))).toMatch(/frees\[0\]/);
    expect(await tryLoad(new TextEncoder().encode('{"not": "ours"}'.padEnd(64)))).toMatch(
      /not a file of tostatic/,
    );
  });

  it('asks for no memory that the file does not have', async () => {
    const copy = structuredClone(header) as { tensors: { storages: { elements: number }[] } };
    copy.tensors.storages[0]!.elements = 2 ** 40;
    expect(await tryLoad(withHeader(copy))).toMatch(/storages\[0\]/);
  });
});
