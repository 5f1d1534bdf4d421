import { readdirSync } from 'node:fs';
import { inspect } from 'node:util';
import { describe, it } from 'vitest';
import type { Scope } from '../../src/vm/bytecode/frame.ts';
import { printCode } from '../../src/vm/bytecode/print.ts';
import { activate } from '../../src/vm/frames/activation.ts';
import { runFrames } from '../../src/vm/machine/run-frames.ts';
import { checkFixture, readFixture } from './fixture-file.ts';
import { lowerChecked } from './parse-function.ts';

const folder = new URL('./fixtures/', import.meta.url);

const globals: Scope = {
  get: (name) => (globalThis as Record<string, unknown>)[name],
  has: (name) => name in globalThis,
  set: () => {},
  reader: (name) => () => globals.get(name),
  isConstant: () => false,
};

/** The function of the fixture runs as bytecode; each line of "Calls" is an argument list. */
describe('lowering prints', () => {
  for (const file of readdirSync(folder)) {
    it(file.replace('.md', ''), () => {
      const url = new URL(file, folder);
      const { sections } = readFixture(url);
      const code = lowerChecked(sections.get('Input')!);
      const calls = sections.get('Calls')!.split('\n');
      const results = calls.map((list) => {
        const args = new Function(`return [${list}]`)() as unknown[];
        const value = runFrames([activate({ code, scope: globals, cells: [] }, undefined, args)]);
        return `(${list}) → ${inspect(value, { depth: 4 })}`;
      });
      const live = printCode(code, { live: true });
      checkFixture(
        url,
        new Map([
          ['Bytecode', live],
          ['Results', results.join('\n')],
        ]),
      );
    });
  }
});
