/**
 * Finds speech in a recording with Silero VAD, a model imported from ONNX and compiled. The model is a file of the npm
 * package `@ricky0123/vad-web`, `dist/silero_vad_v5.onnx` or `dist/silero_vad_v6.onnx`; the recording is a WAV file of
 * 16-bit samples at 8 or 16 kHz.
 *
 *     npx tsx examples/find-speech.ts silero_vad_v6.onnx recording.wav
 */

import { readFileSync } from 'node:fs';
import { noGrad, type Tensor, tensor, tidy, toStatic, zeros } from '../src/index.ts';
import { importOnnx } from '../src/onnx/index.ts';

export interface Recording {
  readonly rate: number;
  /** The first channel, from −1 to 1. */
  readonly samples: Float32Array;
}

export function readWav(file: Uint8Array): Recording {
  const view = new DataView(file.buffer, file.byteOffset, file.byteLength);
  const word = (at: number) => String.fromCharCode(...file.subarray(at, at + 4));
  if (file.length < 12 || word(0) !== 'RIFF' || word(8) !== 'WAVE') throw new Error('no WAV file');
  let format = { kind: 0, channels: 0, rate: 0, bits: 0 };
  for (let at = 12; at + 8 <= file.length; ) {
    const [name, length] = [word(at), view.getUint32(at + 4, true)];
    const end = Math.min(at + 8 + length, file.length);
    if (name === 'fmt ' && end - at >= 24) {
      format = {
        kind: view.getUint16(at + 8, true),
        channels: view.getUint16(at + 10, true),
        rate: view.getUint32(at + 12, true),
        bits: view.getUint16(at + 22, true),
      };
    }
    if (name === 'data') {
      const { kind, channels, rate, bits } = format;
      if (kind !== 1 || bits !== 16 || channels === 0 || ![8000, 16000].includes(rate)) {
        throw new Error(`${rate} Hz, ${bits} bits; 16-bit samples at 8 or 16 kHz are read`);
      }
      const count = Math.floor((end - at - 8) / (2 * channels));
      const sample = (_: number, i: number) => view.getInt16(at + 8 + 2 * i * channels, true);
      return { rate, samples: Float32Array.from({ length: count }, sample).map((x) => x / 32768) };
    }
    at = end + (length % 2);
  }
  throw new Error('a WAV file without samples');
}

/** A range that probably contains speech, in seconds. */
export interface Segment {
  readonly start: number;
  readonly end: number;
}

/** Returns the probability of speech for every 32 ms of a recording. */
export async function speechProbabilities(
  model: string | Uint8Array,
  { rate, samples }: Recording,
): Promise<number[]> {
  const vad = await importOnnx(model);
  // The sampling rate selects one of two networks, so it is a constant of the program.
  const detect = toStatic(
    (chunk: Tensor, state: Tensor) => vad.forward(chunk, state, rate) as Tensor[],
    { fullGraph: true },
  );
  const size = rate / 31.25;
  const context = size / 8;
  const padded = new Float32Array(context + Math.ceil(samples.length / size) * size);
  padded.set(samples, context);
  const probabilities: number[] = [];
  let state: Tensor = zeros([2, 1, 128]);
  for (let at = 0; at + context < padded.length; at += size) {
    const chunk = padded.subarray(at, at + context + size);
    const last = state;
    state = tidy(() => {
      const [probability, next] = noGrad(() => detect(tensor([[...chunk]]), last));
      probabilities.push(probability!.itemSync());
      return next!;
    });
    last.dispose();
  }
  state.dispose();
  vad.dispose();
  return probabilities;
}

/** Joins chunks of speech across pauses of up to `pause` seconds. */
export function segmentsOf(
  probabilities: readonly number[],
  { threshold = 0.5, pause = 0.1, seconds = 0.032 } = {},
): Segment[] {
  const segments: Segment[] = [];
  for (const [i, probability] of probabilities.entries()) {
    if (probability < threshold) continue;
    const [start, end] = [i * seconds, (i + 1) * seconds];
    const before = segments.at(-1);
    if (before && start - before.end <= pause) segments[segments.length - 1] = { ...before, end };
    else segments.push({ start, end });
  }
  return segments;
}

export async function findSpeech(model: string | Uint8Array, wav: Uint8Array): Promise<Segment[]> {
  return segmentsOf(await speechProbabilities(model, readWav(wav)));
}

const [, script, model, recording] = process.argv;
if (script?.endsWith('find-speech.ts')) {
  if (!model || !recording) throw new Error('usage: find-speech.ts MODEL.onnx RECORDING.wav');
  for (const { start, end } of await findSpeech(model, readFileSync(recording))) {
    console.log(`speech from ${start.toFixed(2)} s to ${end.toFixed(2)} s`);
  }
}
