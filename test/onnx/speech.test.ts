/** Silero VAD and a small network that is built like it: they run, compile, and find speech in a recording. */

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import fc from 'fast-check';
import { beforeAll, describe, expect, it } from 'vitest';
import { findSpeech, readWav } from '../../examples/find-speech.ts';
import { noGrad, type Tensor, tensor, toStatic, zeros } from '../../src/index.ts';
import { importOnnx } from '../../src/onnx/index.ts';
import { npmPackage } from '../export/npm-package.ts';
import { type OnnxResult, runOnnx } from '../export/onnxruntime.ts';
import { onnxPython, withInterop } from '../export/python.ts';
import { resampled, toneInNoise, wav } from './recording.ts';
import { smallVad } from './small-vad.ts';

const difference = (a: ArrayLike<number>, b: ArrayLike<number>): number => {
  expect(a.length).toBe(b.length);
  return Array.from(a).reduce((most, value, i) => Math.max(most, Math.abs(value - b[i]!)), 0);
};

/** Chunks of a recording as the model takes them, at one of its rates. */
const chunksAt = (samples: Float32Array, rate: number): Tensor[] => {
  const size = (rate / 16000) * 576;
  const count = Math.floor(samples.length / size);
  return Array.from({ length: count }, (_, i) =>
    tensor([[...samples.subarray(i * size, (i + 1) * size)]]),
  );
};

describe('a network like Silero VAD', () => {
  it.each([16000, 8000])('has in a program the bits of eager execution at %i Hz', async (rate) => {
    const vad = await importOnnx(smallVad());
    const detect = (x: Tensor, state: Tensor) => vad.forward(x, state, rate) as Tensor[];
    const compiled = toStatic(detect, { fullGraph: true });
    let [state, same]: [Tensor, Tensor] = [zeros([2, 1, 128]), zeros([2, 1, 128])];
    for (const chunk of chunksAt(toneInNoise(1, 0.3, 0.6), rate)) {
      const [eager, mine] = noGrad(() => [detect(chunk, state), compiled(chunk, same)]);
      expect(mine[0]!.dataSync()).toEqual(eager[0]!.dataSync());
      expect(mine[1]!.dataSync()).toEqual(eager[1]!.dataSync());
      [state, same] = [eager[1]!, mine[1]!];
    }
    expect(compiled.stats().graphs).toBe(1);
  });

  it('finds what it is built to hear', async () => {
    const [segment, ...others] = await findSpeech(smallVad(), wav(toneInNoise(3, 1, 2)));
    expect(others).toEqual([]);
    expect(Math.abs(segment!.start - 1)).toBeLessThan(0.07);
    expect(Math.abs(segment!.end - 2)).toBeLessThan(0.07);
  });

  it('reads recordings, and nothing else', () => {
    const file = wav(toneInNoise(1, 0, 1).subarray(0, 100));
    expect(readWav(file)).toMatchObject({ rate: 16000, samples: { length: 100 } });
    expect(() => readWav(new Uint8Array(10))).toThrow('no WAV file');
    const edit = fc.tuple(fc.nat(file.length - 1), fc.integer({ min: 0, max: 255 }));
    fc.assert(
      fc.property(fc.array(edit), fc.nat(file.length), (edits, length) => {
        const bytes = file.slice(0, length);
        for (const [at, byte] of edits) if (at < length) bytes[at] = byte;
        try {
          expect(readWav(bytes).samples.length).toBeLessThanOrEqual(file.length);
        } catch (error) {
          expect((error as Error).message).toMatch(/no WAV file|samples/);
        }
      }),
      { numRuns: 200 },
    );
  });
});

const packages = withInterop('Silero VAD, beside onnxruntime', () => [
  npmPackage('@ricky0123/vad-web@0.0.31'),
  npmPackage('espeak-ng@1.0.2'),
]) ?? [null, null];
const python = packages[0] && packages[1] ? onnxPython() : null;

describe.runIf(python)(
  'Silero VAD',
  () => {
    const modelOf = (version: string) => join(packages[0]!, 'dist', `silero_vad_${version}.onnx`);
    let speech: Float32Array;
    let results: Record<string, OnnxResult>;

    beforeAll(async () => {
      const url = pathToFileURL(join(packages[1]!, 'dist/espeak-ng.js')).href;
      const { default: speak } = (await import(/* @vite-ignore */ url)) as {
        default: (options: object) => Promise<{ FS: { readFile(name: string): Uint8Array } }>;
      };
      const text = 'The quick brown fox jumps over the lazy dog';
      const spoken = await speak({ arguments: ['-w', 'speech.wav', '-v', 'en-us', text] });
      const file = spoken.FS.readFile('speech.wav').slice();
      const view = new DataView(file.buffer);
      const samples = new Int16Array(file.buffer.slice(44)).length;
      const own = Float32Array.from({ length: samples }, (_, i) => view.getInt16(44 + 2 * i, true));
      speech = resampled(
        own.map((x) => x / 32768),
        view.getUint32(24, true),
        1,
      );
      const jobs = ['v5', 'v6'].flatMap((version) =>
        [16000, 8000].map((rate) => {
          const chunks = chunksAt(speech, rate).slice(0, 100);
          const sr = tensor(rate, { dtype: 'int32' });
          const job = {
            model: new Uint8Array(readFileSync(modelOf(version))),
            outputs: [
              { name: 'output', feeds: null },
              { name: 'stateN', feeds: 'state' },
            ],
            inputs: [
              ['input', chunks[0]!],
              ['state', zeros([2, 1, 128])],
              ['sr', sr],
            ] as const,
            steps: chunks.length,
            batches: chunks.slice(1).map((chunk) => [[0, chunk]] as const),
          };
          return [`${version}-${rate}`, job] as const;
        }),
      );
      results = await runOnnx(python!, Object.fromEntries(jobs));
    }, 300_000);

    it.each([
      ['v5', 16000],
      ['v5', 8000],
      ['v6', 16000],
      ['v6', 8000],
    ])(
      '%s computes at %i Hz what onnxruntime does, eagerly and in a program',
      async (version, rate) => {
        const theirs = results[`${version}-${rate}`]!;
        expect('error' in theirs ? theirs.error : '').toBe('');
        const vad = await importOnnx(modelOf(version));
        const detect = (x: Tensor, state: Tensor) => vad.forward(x, state, rate) as Tensor[];
        for (const run of [detect, toStatic(detect, { fullGraph: true })]) {
          let state: Tensor = zeros([2, 1, 128]);
          const chances: number[] = [];
          for (const chunk of chunksAt(speech, rate).slice(0, 100)) {
            const [chance, next] = noGrad(() => run(chunk, state));
            chances.push(chance!.itemSync());
            state = next!;
          }
          const found = theirs as Record<string, ArrayLike<number>>;
          const expected = chances.map((_, i) => found[`o0.${i}`]![0]!);
          expect(difference(chances, expected)).toBeLessThan(1e-4);
          expect(difference(state.dataSync(), found[`o1.${chances.length - 1}`]!)).toBeLessThan(
            1e-4,
          );
        }
      },
    );

    it.each(['v5', 'v6'])('%s finds speech where it is', async (version) => {
      const segments = await findSpeech(modelOf(version), wav(speech));
      expect(segments.length).toBeGreaterThan(0);
      expect(segments[0]!.start).toBeGreaterThan(0.95);
      expect(segments[0]!.start).toBeLessThan(1.3);
      expect(segments.at(-1)!.end).toBeLessThan(speech.length / 16000 - 0.9);
      const spoken = segments.reduce((sum, { start, end }) => sum + end - start, 0);
      expect(spoken).toBeGreaterThan(1.5);
    });
  },
  300_000,
);
