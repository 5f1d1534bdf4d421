/** Event files have the format of TensorBoard, whose own reader finds in them what was written. */

import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { inflateSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ArgumentError, tensor, zeros } from '../../src/index.ts';
import { decodeMessage } from '../../src/protobuf/message.ts';
import { SummaryWriter } from '../../src/tensorboard/index.ts';
import { type Event, eventSchema } from '../../src/tensorboard/schema.ts';
import { pythonWith } from '../export/python.ts';

const folder = mkdtempSync(join(tmpdir(), 'tostatic-events-'));
afterAll(() => rmSync(folder, { recursive: true }));

/** Bit by bit, unlike the writer's. */
function maskedChecksum(bytes: Uint8Array): number {
  let crc = 0xffffffff;
  for (const byte of bytes) {
    crc ^= byte;
    for (let bit = 0; bit < 8; bit++) crc = crc & 1 ? (crc >>> 1) ^ 0x82f63b78 : crc >>> 1;
  }
  const own = ~crc >>> 0;
  return (((own >>> 15) | (own << 17)) + 0xa282ead8) >>> 0;
}

function eventsOf(file: Uint8Array): Event[] {
  const view = new DataView(file.buffer, file.byteOffset, file.byteLength);
  const events: Event[] = [];
  let at = 0;
  while (at < file.length) {
    const length = Number(view.getBigUint64(at, true));
    expect(view.getUint32(at + 8, true)).toBe(maskedChecksum(file.subarray(at, at + 8)));
    const data = file.subarray(at + 12, at + 12 + length);
    expect(view.getUint32(at + 12 + length, true)).toBe(maskedChecksum(data));
    events.push(decodeMessage(eventSchema, data, 'events'));
    at += 16 + length;
  }
  return events;
}

let events: Event[];
beforeAll(async () => {
  const writer = new SummaryWriter(folder);
  await writer.addScalar('loss', 0.5, 0);
  await writer.addScalar('loss', tensor(0.25), 1);
  await writer.addHistogram('weights', tensor([-1, 0, 0.5, 2]), 1);
  await writer.addImage(
    'input',
    tensor([
      [
        [0, 1],
        [0.5, 2],
      ],
    ]),
    1,
  );
  events = eventsOf(readFileSync(writer.path));
});

describe('an event file', () => {
  it('begins with its version', () => {
    expect(events[0]!.fileVersion).toBe('brain.Event:2');
    expect(Math.abs(events[0]!.wallTime - Date.now() / 1000)).toBeLessThan(600);
  });

  it('has scalars by tag and step', () => {
    const found = events.flatMap(({ step, summary }) =>
      (summary?.value ?? []).flatMap(({ tag, simpleValue }) =>
        simpleValue === undefined ? [] : [[tag, step, simpleValue]],
      ),
    );
    expect(found).toEqual([
      ['loss', 0, 0.5],
      ['loss', 1, 0.25],
    ]);
  });

  it('has histograms', () => {
    const { histogram } = events[3]!.summary!.value[0]!;
    expect(histogram).toMatchObject({ min: -1, max: 2, num: 4, sum: 1.5, sumSquares: 5.25 });
    expect(histogram!.bucket.reduce((x, y) => x + y)).toBe(4);
    expect(histogram!.bucketLimit.at(-1)).toBe(2);
  });

  it('has images as PNG', () => {
    const { image } = events[4]!.summary!.value[0]!;
    expect(image).toMatchObject({ height: 2, width: 2, colorspace: 1 });
    const { encoded } = image!;
    expect([...encoded.subarray(1, 4)]).toEqual([0x50, 0x4e, 0x47]);
    const length = new DataView(encoded.buffer, encoded.byteOffset + 33).getUint32(0);
    expect([...inflateSync(encoded.subarray(41, 41 + length))]).toEqual([0, 0, 255, 0, 128, 255]);
  });
});

it('what is no image is named', async () => {
  const writer = new SummaryWriter(folder);
  await expect(writer.addImage('x', zeros([2, 2]), 0)).rejects.toThrow(ArgumentError);
});

const python = process.env.INTEROP ? pythonWith(['tensorboard==2.21.0', 'setuptools<81']) : null;

it.runIf(python)("TensorBoard's reader finds the same", () => {
  const script = `
import json, sys
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
events = EventAccumulator(sys.argv[1], size_guidance={'images': 0})
events.Reload()
print(json.dumps({
  'scalars': [[event.step, event.value] for event in events.Scalars('loss')],
  'num': events.Histograms('weights')[0].histogram_value.num,
  'width': events.Images('input')[0].width,
}))`;
  const output = execFileSync(python!, ['-c', script, folder], { encoding: 'utf8' });
  expect(JSON.parse(output.trim().split('\n').at(-1)!)).toEqual({
    scalars: [
      [0, 0.5],
      [1, 0.25],
    ],
    num: 4,
    width: 2,
  });
});
