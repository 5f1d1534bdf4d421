import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type InputOptions, type Plugin, rolldown } from 'rolldown';
import { families } from '../runtime/ops/op-families.ts';
import {
  type OwnTexts,
  ownEdges,
  ownNamespaces,
  ownProbes,
  ownTexts,
  ownUrls,
} from './own-code.ts';
import { pureInitializers } from './pure-initializers.ts';

/**
 * What `runtime/functions` exports as one name each. They stay modules of their own, since a bundler that meets such a
 * namespace as an object can't leave out what is never read of it.
 */
const namespaces = ['nn/index', 'optim/index', 'data/index', 'profiler/profiler'];

/**
 * The chunk of the runtime that does nothing on loading but for what it exports: `sideEffects` in `package.json` has
 * those of the other folder, so that pages leave out this one, and what it loads later, where they use nothing of it.
 * Nor does anything happen on loading the compiler, whose chunks are in its folder.
 */
const onDemand = 'library';

/**
 * What is loaded when a program is read from a file: the first module, for some the second one, and those of the families
 * whose ops it names. They stay modules of their own, which refer to chunks: a bundler keeps all that a module exports that is loaded later.
 */
const programReader = 'runtime/save/parts-reader';
const predictor = 'runtime/save/parts-predictor';
const familyModule = (name: string) => `runtime/ops/families/${name}`;

/**
 * The chunks of ops, each of families that are neighbours: Node reads few files, and pages download few kernels that their
 * programs don't run.
 */
const chunkOf: Readonly<Record<string, string>> = {
  common: 'networks',
  products: 'networks',
  softmax: 'networks',
  arranging: 'indexing',
  indexing: 'indexing',
  comparisons: 'indexing',
  elementwise: 'elementwise',
  standardization: 'elementwise',
  convolution: 'images',
  pooling: 'images',
  orders: 'operators',
  rare: 'operators',
};

/** Lists of ops that are loaded with others are copies: the lists themselves are files of their own. */
const copiedLists: Plugin = {
  name: 'copied-lists',
  async resolveId(id, importer) {
    if (!importer?.endsWith('/runtime/ops/op-table.js') || !id.startsWith('./families/'))
      return null;
    const found = await this.resolve(id, importer, { skipSelf: true });
    return found && `${found.id}?copy`;
  },
  load: (id) =>
    id.endsWith('.js?copy') ? readFileSync(id.slice(0, -'?copy'.length), 'utf8') : null,
};

/** Modules that are loaded by their own name: by `package.json`, or by their URL in the code. */
const entries = [
  'runtime/index',
  'runtime/functions',
  'runtime/load',
  ...namespaces.map((name) => `runtime/${name}`),
  'runtime/data/mnist',
  'runtime/data/worker-main',
  'runtime/revectorize',
  'runtime/weights/index',
  'src/export/index',
  'src/onnx/index',
  'src/onnxruntime/index',
  'src/onnxruntime/web',
  'src/tensorboard/index',
  'src/index',
  'src/node/index',
  'src/1-capture/marked/probe',
  'src/plugin/index',
  'src/plugin/node-loader',
  'src/plugin/turbopack-loader',
  'src/plugin/node-hooks',
  'src/cli/main',
  'src/cli/compare/variant-process',
  'src/cli/run/run-worker',
];

const notInPages = new Set(['gl', 'webgpu', 'os', 'worker_threads']);

/**
 * gpu.js takes these where it finds them, for backends that are never used here: its WebGPU backend gets the
 * device from the page, or from where the user installed it.
 */
const unused: Plugin = {
  name: 'unused',
  resolveId: (id) => (notInPages.has(id) ? `\0${id}` : null),
  load: (id) => (notInPages.has(id.slice(1)) ? 'throw new Error("left out");' : null),
};

/**
 * Leaves out acorn's checks of regular expressions, which `src/vm/syntax/parse.ts` doesn't make: names and versions of
 * Unicode's properties, and a parser of patterns.
 */
const withoutPatterns: Plugin = {
  name: 'without-patterns',
  transform(code, id) {
    if (!id.endsWith('/acorn/dist/acorn.mjs')) return null;
    const from = code.indexOf('var scriptValuesAddedInUnicode');
    const to = code.indexOf('// Object type used to represent tokens');
    if (from < 0 || to < from) throw new Error('acorn has its checks of patterns elsewhere');
    const state =
      'function RegExpValidationState() {}\nRegExpValidationState.prototype.reset = () => {};\n';
    return { code: code.slice(0, from) + state + code.slice(to) };
  },
};

/**
 * Leaves out what the compiler puts around computed specifiers, which would turn `./name.ts` into `./name.js`: no module
 * computes such a name. Rspack finds a comment to bundlers only where it follows the parenthesis of `import(`.
 */
const plainImports: Plugin = {
  name: 'plain-imports',
  transform(code) {
    const helper = '__rewriteRelativeImportExtension';
    if (!code.includes(helper)) return null;
    const definition = new RegExp(`^var ${helper} = [^]*?\\n};\\n`, 'm');
    return { code: code.replace(definition, '').replaceAll(`import(${helper}(`, 'import((') };
  },
};

/** Leaves out the comments that name the modules of a chunk: every start would read them. */
const withoutModuleNames: Plugin = {
  name: 'without-module-names',
  generateBundle(_, bundle) {
    for (const file of Object.values(bundle)) {
      if (file.type === 'chunk') file.code = file.code.replace(/^\/\/ \S+\.js\n/gm, '');
    }
  },
};

/** Refers to the namespaces by their published files, from any folder beside `runtime`. */
const separateNamespaces = (compiled: string): Plugin => ({
  name: 'separate-namespaces',
  resolveId(id, importer) {
    if (importer !== join(compiled, 'runtime/functions.js')) return null;
    const name = namespaces.find((each) => id === `./${each}.js`);
    return name ? { id: `../runtime/${name}.js`, external: true } : null;
  },
});

/**
 * Bundles what the compiler wrote. Dependencies of the package and Node's modules stay outside.
 *
 * @returns the paths of all modules that were bundled.
 */
export async function bundle(root: string, compiled: string, dist: string): Promise<string[]> {
  const manifest = readFileSync(join(root, 'package.json'), 'utf8');
  const { dependencies } = JSON.parse(manifest) as { dependencies: Record<string, string> };
  const options = (names: readonly string[]): InputOptions => ({
    preserveEntrySignatures: 'allow-extension',
    input: Object.fromEntries(names.map((name) => [name, join(compiled, `${name}.js`)])),
    external: [/^node:/, 'esbuild', ...Object.keys(dependencies)],
    // For pages as well as for Node: what a dependency has for one of them alone stays out.
    platform: 'neutral',
    // What the manifest says of the published files doesn't hold for those they are made from.
    treeshake: { moduleSideEffects: true },
    resolve: { mainFields: ['module', 'main'], conditionNames: ['import', 'browser', 'default'] },
  });
  // The probe has an entry of its own, and the functions refer to the namespaces, which refer to this file. Pages that
  // don't load in parts refer to no file that does: some bundlers would keep what it may load.
  const apart = new Set(
    [
      'src/1-capture/marked/probe',
      'runtime/functions',
      'runtime/load',
      'runtime/save/load-in-parts',
      'runtime/ops/op-families',
      'runtime/index',
    ].map((name) => join(compiled, `${name}.js`)),
  );
  // A device that is loaded later refers to this: in the library, bundlers would keep all of that with it.
  const tiledBody = join(compiled, 'runtime/device/tiled-body.js');
  const names = Object.keys(families);
  const later = [programReader, predictor, ...names.map(familyModule)];
  const setups = ['runtime/base-setup', 'runtime/setup'];
  const loaded = await loadedBy(options([...entries, ...setups, familyModule('core'), ...later]));
  const methods = loaded('runtime/setup');
  const base = new Set([...loaded('runtime/base-setup'), ...loaded(familyModule('core'))]);
  const laterModules = new Set(later.map((name) => join(compiled, `${name}.js`)));
  const owner = new Map<string, string>();
  const own = (chunk: string, modules: ReadonlySet<string>) => {
    for (const id of modules) {
      const isOwn = base.has(id) || laterModules.has(id) || apart.has(id) || owner.has(id);
      if (!isOwn) owner.set(id, chunk);
    }
  };
  own('loading', loaded('runtime/load'));
  for (const name of names) own(`ops-${chunkOf[name]}`, loaded(familyModule(name)));
  own('running', loaded(programReader));
  own('simulating', loaded(predictor));
  own('ops-operators', new Set([...methods].filter((id) => !/tensor-methods|setup/.test(id))));
  const chunksOfOps = new Set(owner.values());
  const [runtime, whole] = [loaded('runtime/index'), loaded('src/index')];
  const index = join(compiled, 'src/index.js');
  const beside = new Set(
    entries.filter((name) => !loaded(name).has(index)).flatMap((name) => [...loaded(name)]),
  );
  const isMore = (id: string) => whole.has(id) && !runtime.has(id) && id !== index;
  const isOfRuntime = (id: string) => id.startsWith(join(compiled, 'runtime/'));
  const texts: OwnTexts = new Map();
  const bundled = await rolldown({
    ...options(entries),
    plugins: [
      unused,
      plainImports,
      separateNamespaces(compiled),
      copiedLists,
      ownProbes(compiled, undefined, texts),
      ownTexts(compiled, texts),
      ownUrls(compiled),
      pureInitializers(compiled),
      ownNamespaces,
      ownEdges(compiled),
      withoutModuleNames,
      withoutPatterns,
    ],
  });
  const { output } = await bundled.write({
    dir: dist,
    format: 'esm',
    entryFileNames: '[name].js',
    chunkFileNames: ({ name, moduleIds }) => {
      const isOnDemand =
        name === onDemand ||
        chunksOfOps.has(name) ||
        moduleIds.every((id) => isMore(id) || laterModules.has(id));
      return `chunks/${isOnDemand ? 'on-demand/' : ''}[name]-[hash].js`;
    },
    codeSplitting: {
      // Each file in the order of its modules: some register what others find.
      groups: [
        // Refer to nearly every op, so that pages of functions alone leave them out.
        {
          name: 'methods',
          test: (id) => /\/runtime\/(?:setup\.js|tensor-methods\/)/.test(id) && !base.has(id),
          includeDependenciesRecursively: false,
        },
        {
          debugName: 'ops and programs',
          name: (id) => owner.get(id) ?? null,
          test: (id) => owner.has(id) && id !== tiledBody,
          includeDependenciesRecursively: false,
        },
        {
          name: 'tensors',
          test: (id) => (base.has(id) && !laterModules.has(id)) || id === tiledBody,
          includeDependenciesRecursively: false,
        },
        {
          name: onDemand,
          test: (id) =>
            id.endsWith('?copy') || (runtime.has(id) && !apart.has(id) && !laterModules.has(id)),
          includeDependenciesRecursively: false,
        },
        // Not in the entry, which sets up the runtime's methods whatever a page uses.
        {
          name: 'compiler',
          test: (id) => isMore(id) && !isOfRuntime(id) && !apart.has(id) && !beside.has(id),
          includeDependenciesRecursively: false,
        },
        // Devices that are loaded later refer to these, and not to the compiler.
        {
          name: 'programs',
          test: (id) =>
            isMore(id) &&
            isOfRuntime(id) &&
            !apart.has(id) &&
            !beside.has(id) &&
            !laterModules.has(id),
          includeDependenciesRecursively: false,
        },
      ],
    },
    // Short names of local variables are a seventh of what an engine reads at every start. Lines stay, and the names
    // of functions and classes: engines print those of a stack, and models print their classes.
    minify: {
      compress: false,
      mangle: { toplevel: false, keepNames: true },
      codegen: { removeWhitespace: false },
    },
    comments: { legal: false, annotation: true, jsdoc: false },
  });
  const modules = output.flatMap((file) => (file.type === 'chunk' ? file.moduleIds : []));
  return modules.filter((id) => !id.startsWith('\0'));
}

/** Returns what tells the modules that are loaded with an entry, and not later on. */
async function loadedBy(options: InputOptions): Promise<(name: string) => ReadonlySet<string>> {
  const bundled = await rolldown({ ...options, plugins: [unused] });
  const { output } = await bundled.generate();
  const chunks = output.filter((file) => file.type === 'chunk');
  const byFile = new Map(chunks.map((chunk) => [chunk.fileName, chunk]));
  return (name) => {
    const entry = chunks.find((chunk) => chunk.isEntry && chunk.name === name);
    if (!entry) throw new Error(`no entry ${name}`);
    const found = new Set([entry]);
    for (const { imports } of found) {
      for (const file of imports) if (byFile.has(file)) found.add(byFile.get(file)!);
    }
    return new Set([...found].flatMap(({ moduleIds }) => moduleIds));
  };
}
