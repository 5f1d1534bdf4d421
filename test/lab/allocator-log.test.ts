import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import {
  crossEntropy,
  DataError,
  memory,
  nn,
  randn,
  relu,
  type Tensor,
  tensor,
  toStatic,
} from '../../src/index.ts';
import { analyzeLogText } from '../../src/lab/allocator-log.ts';
import { maxLineLength } from '../../src/lab/line-splitter.ts';
import { asShipped } from '../package/as-shipped.ts';
import { analyzeLines } from './analyze-lines.ts';

const megabytes = 3.375 * 2 ** 20;

/** The small subgraph of the original's memory work: three allocations, one or two frees. */
const original = [
  'I0718 12:00:00.000001 1234 sot.cc:1] START SOT_CALL_0',
  `I0718 12:00:00.000002 1234 allocator.cc:44] Alloc ${megabytes} bytes, ptr = 0x7f0000000000`,
  `I0718 12:00:00.000003 1234 allocator.cc:44] Alloc ${megabytes} bytes, ptr = 0x7f0000400000`,
  `I0718 12:00:00.000004 1234 allocator.cc:61] Free ${megabytes} bytes, ptr = 0x7f0000000000`,
  `I0718 12:00:00.000005 1234 allocator.cc:44] Alloc ${megabytes} bytes, ptr = 0x7f0000000000`,
  'I0718 12:00:00.000006 1234 sot.cc:1] START SOT_CALL_1',
  `I0718 12:00:00.000007 1234 allocator.cc:44] Alloc 64 bytes, ptr = 0x7f0000900000`,
];

describe('lab/allocator-log', () => {
  it('reads the window between two marks of a log with prefixes', async () => {
    const summary = await analyzeLines(original, {
      from: 'START SOT_CALL_0',
      to: 'START SOT_CALL_1',
    });
    expect(summary).toEqual({
      remainingBytes: 2 * megabytes,
      maxBytes: 2 * megabytes,
      allocatedBytes: 3 * megabytes,
      allocations: 3,
      freedBytes: megabytes,
      frees: 1,
      foreignFrees: 0,
      malformed: 0,
      malformedLines: [],
    });
  });

  it('counts frees of memory from before the window, and names malformed lines', async () => {
    const summary = await analyzeLines([
      'Free 128 bytes, ptr = 0xabc',
      'Alloc many bytes, ptr = 0xdef',
      'Alloc 12',
      'Allocation of ideas',
      'Alloc 99999999999999999999 bytes, ptr = 0x1',
    ]);
    expect(summary).toMatchObject({
      remainingBytes: -128,
      frees: 1,
      foreignFrees: 1,
      malformed: 3,
    });
    expect(summary.malformedLines.map(({ line }) => line)).toEqual([2, 3, 5]);
  });

  it('a mark that is not there is an error, not another window', async () => {
    await expect(analyzeLines(original, { from: 'START SOT_CALL_7' })).rejects.toThrow(
      /SOT_CALL_7/,
    );
    await expect(analyzeLines(original, { from: 'CALL_1', to: 'CALL_0' })).rejects.toThrow(/--to/);
  });

  it('a mark that ends in a number is not found in a longer number', async () => {
    const log = ['CALL_12', 'Alloc 1 bytes, ptr = 0x1', 'CALL_1', 'Alloc 2 bytes, ptr = 0x2'];
    expect(await analyzeLines(log, { from: 'CALL_1' })).toMatchObject({ allocatedBytes: 2 });
    await expect(analyzeLines(log, { from: 'LL_2' })).rejects.toThrow(/LL_2/);
  });

  it('addresses that no number holds exactly are told apart', async () => {
    const ends = ['e', 'f'].map((end) => `ffffffffffffff${end}`);
    const log = ends.map((ptr) => `Alloc 8 bytes, ptr = 0x${ptr}`);
    const { frees, foreignFrees } = await analyzeLines([
      ...log,
      ...ends.map((ptr) => `Free 8 bytes, ptr = 0x${ptr}`),
    ]);
    expect([frees, foreignFrees]).toEqual([2, 0]);
  });

  it('reads pieces that end anywhere, with either end of line', async () => {
    const text = original.join('\r\n');
    const whole = await analyzeLines(original);
    for (const size of [1, 7, 64, text.length]) {
      async function* pieces() {
        for (let i = 0; i < text.length; i += size) yield text.slice(i, i + size);
      }
      expect(await analyzeLogText(pieces())).toEqual(whole);
    }
  });

  async function* repeated(text: string, count: number) {
    for (let i = 0; i < count; i++) yield text;
  }

  it('reads a line of many pieces in time that grows as the line does', async () => {
    const begin = performance.now();
    const count = maxLineLength / 16;
    expect(await analyzeLogText(repeated('no event in here', count))).toMatchObject({
      allocations: 0,
      malformed: 0,
    });
    // Joined anew with each piece, the 65,536 pieces are 34 billion characters.
    expect(performance.now() - begin).toBeLessThan(3000);
  });

  it('names a line that is longer than any of a log, and reads no further', async () => {
    let read = 0;
    async function* endless() {
      yield `${original[1]}\n`;
      for (; ; read++) yield 'x'.repeat(2 ** 16);
    }
    const failure = analyzeLogText(endless());
    await expect(failure).rejects.toThrow(DataError);
    await expect(failure).rejects.toThrow(/line 2 with more than 1,048,576 characters/);
    expect(read).toBeLessThanOrEqual(17);
    // Before the window, too, and in one piece.
    const long = `${'x'.repeat(maxLineLength + 1)}\nfrom\n`;
    await expect(analyzeLogText(repeated(long, 1), { from: 'from' })).rejects.toThrow(
      /line 1 with/,
    );
  });

  it('keeps no more of a long log than what is alive', async () => {
    const count = 800;
    const length = 2 ** 18;
    async function* pieces() {
      for (let i = 0; i < count; i++) {
        const ptr = `0x7f${i.toString(16).padStart(10, '0')}`;
        const own = `[gpu:0] Alloc 64 bytes, ptr = ${ptr}\n[gpu:0] Free 64 bytes, ptr = ${ptr}\n`;
        yield own.padEnd(length, `${'what another module says '.repeat(5)}\n`);
        if (i === count - 1) most = process.memoryUsage().heapUsed;
      }
    }
    const before = process.memoryUsage().heapUsed;
    let most = before;
    const summary = await analyzeLogText(pieces());
    expect(summary).toMatchObject({ allocations: count, frees: count, remainingBytes: 0 });
    // Two hundred megabytes went through.
    expect(most - before).toBeLessThan(70e6);
  });

  it("agrees with the counters on a captured step, between the subgraphs' own marks", async () => {
    const [x, labels] = [randn([8, 6]), tensor(new Int32Array(8))];
    const model = new nn.Linear(6, 4);
    const step = toStatic((input: Tensor, target: Tensor) =>
      crossEntropy(relu(model.forward(input)), target),
    );
    step(x, labels).dispose();
    const lines: string[] = [];
    const stop = memory.log((line) => lines.push(line));
    memory.reset('cpu');
    const before = memory.stats('cpu').allocated;
    const loss = step(x, labels);
    const after = memory.stats('cpu');
    stop();
    const mark = lines.find((line) => line.startsWith('START SOT_CALL_'));
    const summary = await analyzeLines(lines, { from: mark });
    expect(summary.remainingBytes).toBe(after.allocated - before);
    expect(summary.maxBytes).toBe(after.peakAllocated - before);
    expect(summary.allocations).toBe(after.allocations);
    expect(summary.frees).toBe(after.frees);
    const marks = lines.filter((line) => line.includes('SOT_CALL'));
    expect(marks).toEqual([mark, mark?.replace('START', 'END')]);
    loss.dispose();
  });

  it('the command prints the figures of a file, and what is wrong with a missing one', async () => {
    const node = await asShipped();
    const folder = mkdtempSync(join(tmpdir(), 'tostatic-log-'));
    const file = join(folder, 'allocator.log');
    writeFileSync(file, original.join('\n'));
    const run = (...args: string[]) =>
      execFileSync(process.execPath, [...node, 'src/cli/main.ts', 'memory', ...args], {
        cwd: join(import.meta.dirname, '../..'),
        encoding: 'utf8',
        stdio: 'pipe',
        input: original.join('\n'),
      });
    expect(run(file, '--from', 'SOT_CALL_0', '--to', 'SOT_CALL_1')).toBe(
      [
        'remaining  7,077,888 bytes (6.75 MiB)',
        'max        7,077,888 bytes (6.75 MiB)',
        'allocated  10,616,832 bytes (10.13 MiB) in 3 allocations',
        'freed      3,538,944 bytes (3.38 MiB) in 1 frees',
        '',
      ].join('\n'),
    );
    expect(JSON.parse(run('-', '--json', '--from', 'SOT_CALL_1'))).toMatchObject({
      allocations: 1,
      allocatedBytes: 64,
    });
    expect(() => run(join(folder, 'missing.log'))).toThrow(/DataError: the log could not be read/);
    rmSync(folder, { recursive: true });
  });
});
