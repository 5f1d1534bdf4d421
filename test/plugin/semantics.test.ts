import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { instrument, type Loaded, loadModule } from './load-module.ts';
import { programs } from './programs.ts';

const result = async ({ run }: Loaded): Promise<unknown> => (run as () => unknown)();

describe('a module with probes does what it did', () => {
  for (const [name, code] of Object.entries(programs)) {
    test(name, async () => {
      const [plain, probed] = [await loadModule(code), await loadModule(instrument(code))];
      expect(Object.keys(probed)).toEqual(Object.keys(plain));
      expect(await result(probed)).toEqual(await result(plain));
      expect(await result(probed)).toEqual(await result(plain));
    });
  }
});

test('a parser with probes parses itself as before', async () => {
  const code = readFileSync(fileURLToPath(import.meta.resolve('acorn')), 'utf8');
  const [plain, probed] = [await loadModule(code), await loadModule(instrument(code))];
  const parse = ({ parse }: Loaded): unknown =>
    (parse as (text: string, options: object) => unknown)(code, {
      ecmaVersion: 2022,
      sourceType: 'module',
    });
  expect(JSON.stringify(parse(probed))).toBe(JSON.stringify(parse(plain)));
});

test('no line moves', () => {
  for (const code of Object.values(programs)) {
    const lines = instrument(code).split('\n');
    for (const [i, line] of code.split('\n').entries()) {
      const words = line.match(/\w+/g) ?? [];
      for (const word of words) expect(lines[i]).toContain(word);
    }
  }
});
