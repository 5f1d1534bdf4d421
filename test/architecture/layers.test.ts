import { readdirSync, readFileSync, statSync } from 'node:fs';
import { basename, dirname, join, relative } from 'node:path';
import { describe, expect, it } from 'vitest';

const root = join(import.meta.dirname, '../..');

function filesUnder(folder: string): string[] {
  return readdirSync(join(root, folder)).flatMap((name) => {
    const path = join(folder, name);
    if (statSync(join(root, path)).isDirectory()) return filesUnder(path);
    return path.endsWith('.ts') ? [path] : [];
  });
}

interface Import {
  readonly from: string;
  readonly to: string;
  /** Erased by the compiler: ties data models together, loads nothing. */
  readonly typeOnly: boolean;
}

const statement =
  /^(?:import|export)\s+(type\s+)?([^;]*?)\s*from\s+'(\.[^']+)';|^import '(\.[^']+)';/gms;

function importsOf(file: string): Import[] {
  const text = readFileSync(join(root, file), 'utf8');
  return [...text.matchAll(statement)].map((match) => {
    const target = match[3] ?? match[4]!;
    const names = (match[2] ?? '').replace(/[{}]/g, '').split(',');
    const listed = names.map((name) => name.trim()).filter((name) => name !== '');
    const allTypes = listed.length > 0 && listed.every((name) => name.startsWith('type '));
    return {
      from: file,
      to: relative(root, join(root, dirname(file), target)),
      typeOnly: match[1] !== undefined || allTypes,
    };
  });
}

const files = [...filesUnder('runtime'), ...filesUnder('src')];
const imports = files.flatMap(importsOf);

function describeImport({ from, to }: Import): string {
  return `${from} imports ${to}`;
}

describe('layers', () => {
  it('reads the imports of every file', () => {
    expect(files.length).toBeGreaterThan(100);
    expect(imports.length).toBeGreaterThan(files.length);
    for (const { to } of imports) expect(statSync(join(root, to)).isFile()).toBe(true);
  });

  it('the runtime never imports the compiler', () => {
    const wrong = imports.filter(
      ({ from, to }) => from.startsWith('runtime/') && to.startsWith('src/'),
    );
    expect(wrong.map(describeImport)).toEqual([]);
  });

  it('the runtime depends on no package but those of the GPU', () => {
    const packages = files
      .filter((file) => file.startsWith('runtime/'))
      .flatMap((file) => {
        const text = readFileSync(join(root, file), 'utf8');
        const named = text.matchAll(/^(?:import|export)\s[^;]*?from\s+'([^.'][^']*)';/gms);
        return [...named].map((match) => `${file} imports ${match[1]}`);
      });
    expect(packages.filter((text) => !text.includes('imports node:'))).toEqual([]);
  });

  it('phases meet only through data models', () => {
    const phaseOf = (file: string) => /^src\/(\d)-/.exec(file)?.[1];
    const wrong = imports.filter(({ from, to }) => {
      const [a, b] = [phaseOf(from), phaseOf(to)];
      return a !== undefined && b !== undefined && a !== b;
    });
    expect(wrong.map(describeImport)).toEqual([]);
  });

  it('data models of the compiler know no phase', () => {
    const models = ['src/vm/', 'src/guards/', 'src/traces/', 'src/programs/'];
    const wrong = imports.filter(
      ({ from, to }) => models.some((model) => from.startsWith(model)) && /^src\/\d-/.test(to),
    );
    expect(wrong.map(describeImport)).toEqual([]);
  });

  it('the VM knows JavaScript alone: no tensor, program, guard or trace, types included', () => {
    const allowed = ['src/vm/', 'runtime/errors/'];
    const wrong = imports.filter(
      ({ from, to }) =>
        from.startsWith('src/vm/') && !allowed.some((layer) => to.startsWith(layer)),
    );
    expect(wrong.map(describeImport)).toEqual([]);
  });

  it('lowering knows the VM and nothing else', () => {
    const allowed = ['src/2-lower/', 'src/vm/', 'runtime/errors/'];
    const wrong = imports.filter(
      ({ from, to }) =>
        from.startsWith('src/2-lower/') && !allowed.some((layer) => to.startsWith(layer)),
    );
    expect(wrong.map(describeImport)).toEqual([]);
  });

  it('folders have an order, types included', () => {
    expect(foldersWithoutOrder(imports)).toEqual([]);
  });

  it('folders hold at most 25 files', () => {
    const sizes = new Map<string, number>();
    for (const file of [...files, ...filesUnder('test')]) {
      sizes.set(dirname(file), (sizes.get(dirname(file)) ?? 0) + 1);
    }
    expect([...sizes].filter(([, count]) => count > 25)).toEqual([]);
  });

  it('files have at most 400 lines', () => {
    const long = [...files, ...filesUnder('test')].flatMap((file) => {
      const count = readFileSync(join(root, file), 'utf8').split('\n').length - 1;
      return count > 400 ? [`${file}: ${count}`] : [];
    });
    expect(long).toEqual([]);
  });

  it('the root of src holds the public surface and the pipeline', () => {
    const root = files.filter((file) => dirname(file) === 'src');
    expect(root.map((file) => basename(file, '.ts'))).toEqual([
      'index',
      'page',
      'pipeline',
      'stats',
      'to-static',
    ]);
  });

  it('gpu.js is behind one file per API', () => {
    const users = files.filter((file) =>
      /(?:from|import\()\s*'gpu\.js'/.test(readFileSync(join(root, file), 'utf8')),
    );
    expect(users).toEqual([
      'runtime/device/gpu/webgl/gpujs-glsl.ts',
      'runtime/device/gpu/webgpu/gpujs.ts',
    ]);
  });

  it('no file is loaded while it waits for itself', () => {
    expect(cyclesIn(imports.filter(({ typeOnly }) => !typeOnly))).toEqual([]);
  });
});

/** The file itself at the root of `src` or `runtime`: the public surface is above, the pipeline below. */
const placeOf = (file: string): string => (/^\w+\/[^/]+$/.test(file) ? file : dirname(file));

/** Groups of folders in which every folder reaches every other one. */
function foldersWithoutOrder(edges: readonly Import[]): string[][] {
  const targets = new Map<string, Set<string>>();
  for (const { from, to } of edges) {
    const [a, b] = [placeOf(from), placeOf(to)];
    if (a !== b) targets.set(a, (targets.get(a) ?? new Set()).add(b));
  }
  const reachedFrom = (start: string): Set<string> => {
    const found = new Set<string>(targets.get(start));
    for (const folder of found) for (const next of targets.get(folder) ?? []) found.add(next);
    return found;
  };
  const reached = new Map([...targets.keys()].map((folder) => [folder, reachedFrom(folder)]));
  const groups = new Map<string, string[]>();
  for (const [folder, others] of reached) {
    if (!others.has(folder)) continue;
    const group = [...others].filter((other) => reached.get(other)?.has(folder)).sort();
    groups.set(group[0]!, group);
  }
  return [...groups.values()].sort((a, b) => (a[0]! < b[0]! ? -1 : 1));
}

/** Each cycle once, as the files along it. */
function cyclesIn(edges: readonly Import[]): string[][] {
  const targets = new Map<string, string[]>();
  for (const { from, to } of edges) targets.set(from, [...(targets.get(from) ?? []), to]);
  const done = new Set<string>();
  const path: string[] = [];
  const cycles: string[][] = [];
  const visit = (file: string): void => {
    const start = path.indexOf(file);
    if (start >= 0) {
      cycles.push(path.slice(start));
      return;
    }
    if (done.has(file)) return;
    path.push(file);
    for (const target of targets.get(file) ?? []) visit(target);
    path.pop();
    done.add(file);
  };
  for (const file of targets.keys()) visit(file);
  return cycles;
}

describe('bundlers', () => {
  /** Files that load others of the package at run time, from what a page may import. */
  const reached = (entries: readonly string[]): string[] => {
    const found = new Set(entries);
    for (const file of found) {
      for (const { from, to, typeOnly } of imports) if (from === file && !typeOnly) found.add(to);
    }
    return [...found];
  };

  it('find no file or module that they would look for and warn of', () => {
    const suspects = reached(['src/index.ts', 'runtime/data/worker-main.ts']).flatMap((file) => {
      const text = readFileSync(join(root, file), 'utf8').replace(/`[^`]*`|"[^"]*"/g, '""');
      const assets = text.match(/new URL\([^;]*?import\.meta\.url/g) ?? [];
      const modules = text.match(
        /\bimport\((?!['"])(?!(\/\*.*?\*\/ )*\/\* webpackIgnore: true)[^)]+\)/g,
      );
      return [...assets, ...(modules ?? [])].map((each) => `${file}: ${each}`);
    });
    expect(suspects).toEqual([]);
  });
});
