/** Event files have the format of TensorBoard, whose own reader finds in them what was written. */

import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { inflateSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ArgumentError, nn, optim, type Tensor, tensor, toStatic, zeros } from '../../src/index.ts';
import { decodeMessage } from '../../src/protobuf/message.ts';
import { SummaryWriter } from '../../src/tensorboard/index.ts';
import {
  type Event,
  eventSchema,
  type GraphDef,
  graphSchema,
} from '../../src/tensorboard/schema.ts';
import { pythonWith, withInterop } from '../export/python.ts';

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

/** A captured training step, called once. */
function calledStep() {
  const model = new nn.Sequential(new nn.Linear(3, 2), new nn.ReLU());
  const optimizer = new optim.SGD(model.parameters(), { lr: 0.1 });
  const step = toStatic((x: Tensor) => {
    const loss = model.forward(x).square().sum();
    loss.backward();
    optimizer.step();
    optimizer.zeroGrad();
    return loss;
  });
  step(zeros([4, 3]));
  return step;
}

describe('the graph of a captured function', () => {
  async function graphOf(fn: Parameters<SummaryWriter['addGraph']>[0]): Promise<GraphDef> {
    const writer = new SummaryWriter(join(folder, 'graph'));
    await writer.addGraph(fn);
    const { graphDef } = eventsOf(readFileSync(writer.path)).at(-1)!;
    return decodeMessage(graphSchema, graphDef!, 'events');
  }

  it('has named nodes that read others of the graph, with shapes', async () => {
    const { node } = await graphOf(calledStep());
    const names = node.map(({ name }) => name);
    expect(new Set(names).size).toBe(names.length);
    for (const name of names) expect(name).toMatch(/^[A-Za-z0-9.][\w./-]*$/);
    for (const { input } of node) {
      for (const read of input) expect(names).toContain(read.replace(/:\d+$/, ''));
    }
    expect(names).toContain('inputs/model/layers/0/weight');
    expect(names.some((name) => name.startsWith('backward/summary-writer.test.ts_'))).toBe(true);
    const x = node.find(({ name }) => name === 'inputs/x')!;
    const shapes = x.attr.find(({ key }) => key === '_output_shapes')!.value.list!.shape;
    expect(shapes).toEqual([{ dim: [{ size: 4 }, { size: 3 }] }]);
  });

  it('has the ops of branches, and what backward reads of forward', async () => {
    const fn = toStatic(
      (x: Tensor) => (x.sum().itemSync() > 0 ? x.exp() : x.tanh()).square().sum(),
      { fullGraph: true },
    );
    fn(tensor([1, 2], { requiresGrad: true })).backward();
    const { node } = await graphOf(fn);
    const ops = (prefix: RegExp) =>
      node.filter(({ name }) => prefix.test(name)).map(({ op }) => op);
    expect(ops(/\/region_0\//)).toContain('exp');
    expect(ops(/\/region_1\//)).toContain('tanh');
    const backward = node.filter(({ name }) => name.startsWith('backward/'));
    expect(backward.some(({ input }) => input.some((read) => read.startsWith('forward/')))).toBe(
      true,
    );
  });

  it('needs a call', async () => {
    const writer = new SummaryWriter(join(folder, 'graph'));
    const fn = toStatic((x: Tensor) => x.add(1));
    await expect(writer.addGraph(fn)).rejects.toThrow('compiled nothing yet');
  });
});

it('what is no image is named', async () => {
  const writer = new SummaryWriter(folder);
  await expect(writer.addImage('x', zeros([2, 2]), 0)).rejects.toThrow(ArgumentError);
});

const python = withInterop("event files, read by TensorBoard's own reader", () =>
  pythonWith(['tensorboard==2.21.0', 'setuptools<81']),
);

it.runIf(python)("TensorBoard's reader finds the same graph", async () => {
  const own = join(folder, 'read');
  await new SummaryWriter(own).addGraph(calledStep());
  const script = `
import sys
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
events = EventAccumulator(sys.argv[1])
events.Reload()
from tensorboard.plugins.graph import graph_util
graph = events.Graph()
assert len(graph_util.merge_graph_defs([graph]).node) == len(graph.node)
print(sorted(node.name for node in graph.node if node.op == 'Placeholder'))`;
  const output = execFileSync(python!, ['-c', script, own], { encoding: 'utf8' });
  expect(output).toContain("'inputs/model/layers/0/bias', 'inputs/model/layers/0/weight'");
});

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
