/** Folders of `tostatic scale` run by XLA: on one device, on four of one process, and in four processes. */

import { execFileSync, spawn } from 'node:child_process';
import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { openWeights } from '../../runtime/weights/index.ts';
import { withInterop, xlaPython } from './python.ts';
import { StepToScale } from './scaled-step.ts';

const python = withInterop('tostatic scale, run by XLA', xlaPython);
const steps = 20;

let made: StepToScale;
let ours: number[];
beforeAll(async () => {
  vi.spyOn(console, 'log').mockImplementation(() => {});
  made = new StepToScale();
  await made.save();
  ours = made.losses(steps);
});
afterAll(() => rmSync(made.root, { recursive: true }));

function run(folder: string, ...options: readonly string[]): string {
  const runner = join(folder, 'run.py');
  const all = [runner, '--platform', 'cpu', ...options];
  return execFileSync(python!, all, { encoding: 'utf8', stdio: 'pipe' });
}

function lossesIn(folder: string): number[] {
  const lines = readFileSync(join(folder, 'log.jsonl'), 'utf8').trim().split('\n');
  const logged = lines.map((line) => JSON.parse(line) as { step: number; result: number });
  expect(logged.map(({ step }) => step)).toEqual(logged.map((_, i) => i + 1));
  return logged.map(({ result }) => result);
}

const difference = (a: readonly number[], b: readonly number[]): number => {
  expect(a.length).toBe(b.length);
  return Math.max(...a.map((value, i) => Math.abs(value - b[i]!)));
};

describe.runIf(python)(
  'a scaled step',
  () => {
    it.each([
      ['one device', 'data=1', [], []],
      ['four devices of one process', 'data=4', [], []],
      ['four processes', 'data=4', [], ['--processes', '4', '--restarts', '0']],
      ['weights split over two devices', 'data=2,model=2', ['*.weight=model'], []],
      ['weights split over two processes', 'model=2', ['*.weight=model'], ['--processes', '2']],
    ])('has our losses on %s', async (name, mesh, hints, options) => {
      const folder = await made.scaled(name.replaceAll(' ', '-'), mesh, hints);
      await made.writeData(folder, steps);
      const compiled = join(folder, 'compiled.txt');
      run(folder, '--steps', `${steps}`, '--compiled', compiled, ...options);
      expect(difference(lossesIn(folder), ours)).toBeLessThan(1e-4);
      expect(/ all-reduce(?:-start)?\(/.test(readFileSync(compiled, 'utf8'))).toBe(
        mesh !== 'data=1',
      );
    });

    it('writes checkpoints that modules load', async () => {
      const folder = await made.scaled('checkpoints', 'data=2');
      await made.writeData(folder, steps);
      run(folder, '--steps', `${steps}`, '--checkpoint-every', '8');
      const file = join(folder, 'checkpoints', `${String(steps).padStart(9, '0')}.safetensors`);
      await using weights = await openWeights(file);
      const state = await weights.state();
      const fresh = new StepToScale().model;
      const names = (name: string) => `model.${name}`;
      expect(fresh.loadStateDict(state, { names, strict: false }).missing).toEqual([]);
      for (const [name, parameter] of made.model.namedParameters()) {
        const loaded = fresh.stateDict()[name]!;
        expect(difference([...loaded.dataSync()], [...parameter.dataSync()])).toBeLessThan(1e-4);
      }
    });

    it('continues from its last checkpoint as if it had not stopped, random numbers included', async () => {
      const random = new StepToScale({ dropout: 0.3 });
      await random.save();
      const losses: number[][] = [];
      for (const stops of [[steps], [7, 13, steps]]) {
        const folder = await random.scaled(`stops-${stops.length}`, 'data=2');
        await random.writeData(folder, 6);
        for (const stop of stops) run(folder, '--steps', `${stop}`, '--shuffle', '5');
        losses.push(lossesIn(folder));
      }
      rmSync(random.root, { recursive: true });
      expect(losses[1]).toEqual(losses[0]);
    });

    it('is started again when one of its processes is killed, with the losses of an uninterrupted run', async () => {
      const many = 400;
      const whole = await made.scaled('uninterrupted', 'data=4');
      await made.writeData(whole, steps);
      run(whole, '--steps', `${many}`);
      const folder = await made.scaled('killed', 'data=4');
      await made.writeData(folder, steps);
      const options = ['--steps', `${many}`, '--processes', '4', '--checkpoint-every', '10'];
      const all = [join(folder, 'run.py'), '--platform', 'cpu', ...options];
      const child = spawn(python!, all, { stdio: ['ignore', 'pipe', 'ignore'] });
      let output = '';
      let victim: number | null = null;
      child.stdout.setEncoding('utf8').on('data', (text: string) => {
        output += text;
        if (victim !== null || !output.includes('step 25/')) return;
        victim = Number(/processes \d+ \d+ (\d+)/.exec(output)![1]);
        process.kill(victim, 'SIGKILL');
      });
      const code = await new Promise((resolve) => child.on('close', resolve));
      expect([code, output.match(/restarts left/g)?.length]).toEqual([0, 1]);
      const from = Number(/restarts left[\s\S]*from step (\d+)/.exec(output)![1]);
      expect(from % 10).toBe(0);
      expect(from).toBeGreaterThanOrEqual(20);
      expect(difference(lossesIn(folder), lossesIn(whole))).toBeLessThan(1e-4);
    });

    it('names data that does not fit', async () => {
      const folder = await made.scaled('unfit', 'data=2');
      expect(() => run(folder, '--steps', '1')).toThrow('no data for arg.0');
      await made.writeData(folder, 1);
      expect(() => run(folder, '--steps', '1', '--mesh', 'data=3')).toThrow('can not be split');
      expect(() => run(folder, '--steps', '1', '--mesh', 'model=3')).toThrow('no axis model');
      const data = join(folder, 'data');
      execFileSync('cp', [join(data, 'arg.0.npy'), join(data, 'arg.1.npy')]);
      expect(() => run(folder, '--steps', '1')).toThrow('not float32 [rows, 4]');
    });
  },
  300_000,
);
