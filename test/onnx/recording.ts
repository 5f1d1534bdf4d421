/** Recordings, and a file of one. */

const rate = 16000;

/** Faint noise, with a tone of 1500 Hz from `start` to `end` seconds; numbers from −1 to 1 at 16 kHz. */
export function toneInNoise(seconds: number, start: number, end: number): Float32Array {
  let noise = 1;
  return Float32Array.from({ length: seconds * rate }, (_, t) => {
    noise = (noise * 48271) % 2147483647;
    const quiet = 0.002 * (noise / 2147483647 - 0.5);
    const isTone = t >= start * rate && t < end * rate;
    return quiet + (isTone ? 0.4 * Math.sin((2 * Math.PI * 1500 * t) / rate) : 0);
  });
}

/** At 16 kHz what was recorded at another rate, after `before` seconds of silence, and with as much behind. */
export function resampled(samples: Float32Array, from: number, before: number): Float32Array {
  const length = Math.round(((samples.length - 1) / from + 2 * before) * rate);
  return Float32Array.from({ length }, (_, t) => {
    const place = (t / rate - before) * from;
    const i = Math.floor(place);
    const [a, b] = [samples[i] ?? 0, samples[i + 1] ?? 0];
    return a + (b - a) * (place - i);
  });
}

/** The file of a recording. */
export function wav(samples: Float32Array): Uint8Array {
  const view = new DataView(new ArrayBuffer(44 + 2 * samples.length));
  const text = (at: number, word: string) => {
    for (const [i, letter] of [...word].entries()) view.setUint8(at + i, letter.charCodeAt(0));
  };
  text(0, 'RIFF');
  view.setUint32(4, 36 + 2 * samples.length, true);
  text(8, 'WAVEfmt ');
  view.setUint32(16, 16, true);
  view.setUint16(20, 1, true);
  view.setUint16(22, 1, true);
  view.setUint32(24, rate, true);
  view.setUint32(28, 2 * rate, true);
  view.setUint16(32, 2, true);
  view.setUint16(34, 16, true);
  text(36, 'data');
  view.setUint32(40, 2 * samples.length, true);
  for (const [i, x] of samples.entries()) view.setInt16(44 + 2 * i, Math.round(32767 * x), true);
  return new Uint8Array(view.buffer);
}
