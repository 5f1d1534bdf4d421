/* biome-ignore-all lint: what is tested is odd code */
/** Typed arrays, in captured code. */

import { tensor } from '../../../../src/index.ts';
import { type Cases, caught } from '../world.ts';

export const typed: Cases = {
  read: (_x, w) => [w.typed[0], w.typed.length, w.typed.byteLength, w.typed.BYTES_PER_ELEMENT],
  write: (_x, w) => {
    w.typed[1] = w.n;
    return w.typed;
  },
  shared: (_x, w) => {
    const a = new Float32Array([w.n, 2, 3]);
    const b = a.subarray(1);
    b[0] = 9;
    const bytes = new Uint8Array(a.buffer, 4, 4);
    const view = new DataView(a.buffer);
    view.setFloat32(8, w.n / 3, true);
    bytes[3] = 0;
    const own = new Int16Array(new ArrayBuffer(4));
    const numbers = [view.getFloat32(8, true), view.byteLength, a.buffer.slice(4).byteLength];
    return [a, b, bytes, own, a.buffer === b.buffer, view.getUint8(7), numbers, a.byteOffset];
  },
  badView: () => [
    caught(() => new Float32Array(new ArrayBuffer(8), 1)),
    caught(() => new DataView(new ArrayBuffer(2)).getFloat64(0)),
    caught(() => new ArrayBuffer(-1)),
  ],
  iterate: (_x, w) => {
    let s = 0;
    for (const v of w.typed) s += v;
    return [s, [...w.typed], Math.max(...w.typed)];
  },
  methods: (_x, w) => [
    w.typed.map((v) => v * 2),
    w.typed.indexOf(2.5),
    w.typed.includes(-3),
    w.typed.join(),
    w.typed.at(-1),
    w.typed.reduce((a, b) => a + b),
  ],
  newOnes: (_x, w) => [
    new Float32Array(3),
    new Float32Array([w.n, 2]),
    Float32Array.of(1, 2),
    Float32Array.from([1, 2], (v) => v * 2),
    new Float32Array(w.typed),
    new Uint8Array([300]),
    new Int16Array(2),
    new Uint8ClampedArray([300]),
    new Uint16Array([1]),
    new Uint32Array([2]),
    new Int8Array([3]),
  ],
  madeMethods: (_x, w) => {
    const a = new Float32Array([3, 1, 2]);
    a[0] = w.n;
    a.set([7], 1);
    a.fill(5, 2);
    return [
      a.map((v) => v + 1),
      a.slice(0, 2),
      a.sort(),
      a.reverse(),
      a.indexOf(5),
      [...a],
      a.toSorted(),
      a.with(0, 1),
      a.filter((v) => v > 2),
      a.some((v) => v > 2),
      a.length,
      a.byteLength,
    ];
  },
  toTensor: (x, w) => x.mul(tensor(new Float32Array([w.n, 2]))),
  toTensorFrom: (x, w) => x.mul(tensor(Float32Array.from({ length: 2 }, (_, i) => i + w.n))),
  buffer: () => {
    const b = new ArrayBuffer(8);
    const v = new DataView(b);
    v.setFloat32(0, 1.5);
    return [v.getUint8(0), new Uint8Array(b)[0]];
  },
  text: () => [new TextEncoder().encode('ab')[0], new TextDecoder().decode(new Uint8Array([65]))],
  makeLoop: (x, w) => {
    const a = new Float64Array(4);
    for (let i = 0; i < 4; i++) a[i] = i * w.n;
    return [x.mul(a[2]!), a];
  },
};
