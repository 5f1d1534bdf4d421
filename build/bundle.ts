import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type InputOptions, type Plugin, rolldown } from 'rolldown';
import { families } from '../runtime/ops/op-families.ts';
import { dividedExports } from './divided-exports.ts';
import { entries, environment, namespaces, sameInNode } from './entries.ts';
import { nodeEntries } from './node-entries.ts';
import {
  type OwnFunctions,
  type OwnTexts,
  ownEdges,
  ownNamespaces,
  ownProbes,
  ownTexts,
  ownUrls,
  writeOwnFunctions,
} from './own-code.ts';
import { ownNames } from './own-names.ts';
import { pureInitializers } from './pure-initializers.ts';
import { smallParser } from './small-parser.ts';

/**
 * The chunk of the runtime without side effects on loading, beyond its exports. `sideEffects` in `package.json`
 * lists the other folder's files, so pages drop this chunk, and what it loads later, if they use nothing of it. The
 * compiler's chunks have no side effects either, and are in its folder.
 */
const onDemand = 'library';

/**
 * Loaded when a program is read from a file: the first module; for some programs, some of the next three; and the op
 * families that the program names. They stay separate modules that refer to chunks, since a bundler keeps all
 * exports of a dynamically imported module.
 */
const programReader = 'runtime/save/in-parts/reader';
const predictor = 'runtime/save/in-parts/predictor';
const controlCompiler = 'runtime/save/in-parts/control';
const backwardRunner = 'runtime/save/in-parts/backward';
/** What `toStatic` of `tostatic/deferred` loads when it compiles: a module that refers to chunks, too. */
const lateCompiler = 'src/deferred/compiler';
const familyModule = (name: string) => `runtime/ops/families/${name}`;

/**
 * The chunks of ops, each with related families: Node reads few files, and pages download few kernels that their
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

/**
 * The rest of the runtime that pages load on demand. Layers, optimizers and what they call are apart: a page that
 * loads the compiler later would load with a layer whatever the compiler uses of the same chunk.
 */
const libraryChunk = (id: string): string => {
  if (id.includes('/runtime/optim/')) return 'optimizers';
  if (id.includes('/runtime/nn/')) return 'layers';
  const isFunction = /\/runtime\/(?:functional\/|backward\/grad\.|ops\/(?!families)[\w-]+\/)/.test(
    id,
  );
  return isFunction ? 'functional' : onDemand;
};

const libraryChunks = new Set([onDemand, 'functional', 'layers', 'optimizers']);

/** Lists of ops that are loaded with others are copies: the lists themselves are separate files. */
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

const notInPages = new Set(['gl', 'webgpu', 'os', 'worker_threads']);

/**
 * Optional modules that gpu.js loads for backends that are never used here: its WebGPU backend gets the device from
 * the page, or from the user's package.
 */
const unused: Plugin = {
  name: 'unused',
  resolveId: (id) => (notInPages.has(id) ? `\0${id}` : null),
  load: (id) => (notInPages.has(id.slice(1)) ? 'throw new Error("left out");' : null),
};

/**
 * Removes the helper that TypeScript wraps around computed import specifiers, to turn `./name.ts` into `./name.js`:
 * no module computes such a name. Rspack finds a comment for bundlers only directly after the parenthesis of
 * `import(`.
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

/**
 * Leaves out imports of no names from chunks without side effects. Some bundlers drop them as well; with esbuild,
 * pages would load these chunks with whatever they use of the file.
 */
const withoutIdleImports: Plugin = {
  name: 'without-idle-imports',
  generateBundle(_, bundle) {
    for (const file of Object.values(bundle)) {
      if (file.type === 'chunk')
        file.code = file.code.replace(/^import "\.\/on-demand\/.*\n/gm, '');
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

interface Manifest {
  readonly dependencies: Readonly<Record<string, string>>;
  readonly peerDependencies: Readonly<Record<string, string>>;
}

/**
 * Bundles the compiler's output. Dependencies of the package, optional ones too, and Node's modules stay external.
 *
 * @returns the paths of all bundled modules.
 */
export async function bundle(root: string, compiled: string, dist: string): Promise<string[]> {
  const manifest = readFileSync(join(root, 'package.json'), 'utf8');
  const { dependencies, peerDependencies } = JSON.parse(manifest) as Manifest;
  const packages = Object.keys({ ...dependencies, ...peerDependencies, esbuild: '' });
  const outside = new RegExp(`^(?:node:|(?:${packages.join('|')})(?:/|$))`);
  const options = (names: readonly string[]): InputOptions => ({
    preserveEntrySignatures: 'allow-extension',
    input: Object.fromEntries(names.map((name) => [name, join(compiled, `${name}.js`)])),
    external: outside,
    // For pages as well as for Node: code of a dependency for only one of them is left out.
    platform: 'neutral',
    // The manifest describes the published files, not those they are built from.
    treeshake: { moduleSideEffects: true },
    resolve: { mainFields: ['module', 'main'], conditionNames: ['import', 'browser', 'default'] },
  });
  // The probe has its own entry, and the functions refer to the namespaces, which refer to this file. Pages that
  // don't load in parts must not refer to a file that does: some bundlers would keep everything it may load.
  const apart = new Set(
    [
      'src/1-capture/marked/probe',
      'runtime/functions',
      'runtime/load',
      'runtime/save/in-parts/load-in-parts',
      'src/deferred/index',
      'runtime/ops/op-families',
      'runtime/index',
    ].map((name) => join(compiled, `${name}.js`)),
  );
  // A device that is loaded later refers to this: in the library, bundlers would keep all of it.
  const tiledBody = join(compiled, 'runtime/device/tiled-body.js');
  const names = Object.keys(families);
  const later = [
    programReader,
    predictor,
    controlCompiler,
    backwardRunner,
    lateCompiler,
    ...names.map(familyModule),
  ];
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
  const isOfRuntime = (id: string) => id.startsWith(join(compiled, 'runtime/'));
  const deferring = loaded('src/deferred/index');
  // Pages without a compiler use these, too. What checks arguments comes to them with a program.
  const isShared = (id: string) => isOfRuntime(id) && !id.includes('/input-spec/');
  own('loading', new Set([...loaded('runtime/load'), ...[...deferring].filter(isShared)]));
  own('deferring', deferring);
  for (const name of names) own(`ops-${chunkOf[name]}`, loaded(familyModule(name)));
  const [controlling, differentiating] = [loaded(controlCompiler), loaded(backwardRunner)];
  // What both use is apart from either, so that neither loads the other.
  const both = [...controlling].filter((id) => differentiating.has(id));
  own('running', new Set([...loaded(programReader), ...both]));
  own('differentiating', differentiating);
  own('controlling', controlling);
  own('simulating', loaded(predictor));
  own('ops-operators', new Set([...methods].filter((id) => !/tensor-methods|setup/.test(id))));
  const chunksOfOps = new Set(owner.values());
  const [runtime, whole] = [loaded('runtime/index'), loaded('src/page')];
  const index = join(compiled, 'src/page.js');
  const beside = new Set(
    entries.filter((name) => !loaded(name).has(index)).flatMap((name) => [...loaded(name)]),
  );
  const isMore = (id: string) => whole.has(id) && !runtime.has(id) && id !== index;
  const texts: OwnTexts = new Map();
  const functions: OwnFunctions = new Map();
  const bundled = await rolldown({
    ...options(entries),
    plugins: [
      unused,
      plainImports,
      separateNamespaces(compiled),
      copiedLists,
      ownProbes(compiled, undefined, texts, functions),
      // After the probes, whose texts need no names.
      ownNames(compiled),
      ownTexts(compiled, texts),
      ownUrls(compiled),
      pureInitializers(compiled),
      ownNamespaces,
      ownEdges(compiled),
      withoutModuleNames,
      withoutIdleImports,
      nodeEntries(environment, sameInNode),
      dividedExports([
        { of: 'runtime/functions', path: 'names/functions' },
        { of: 'runtime/index', path: 'names/runtime', first: 'methods' },
      ]),
      smallParser,
    ],
  });
  const { output } = await bundled.write({
    dir: dist,
    format: 'esm',
    entryFileNames: '[name].js',
    chunkFileNames: ({ name, moduleIds }) => {
      const isOnDemand =
        libraryChunks.has(name) ||
        chunksOfOps.has(name) ||
        moduleIds.every((id) => isMore(id) || laterModules.has(id));
      return `chunks/${isOnDemand ? 'on-demand/' : ''}[name]-[hash].js`;
    },
    codeSplitting: {
      // Each file in the order of its modules: some register what others look up.
      groups: [
        {
          name: environment,
          test: (id) => id === join(compiled, 'runtime/numerics/environment.js'),
          includeDependenciesRecursively: false,
        },
        // These refer to nearly every op, so pages that use only functions drop them.
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
          debugName: 'library',
          name: libraryChunk,
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
    // Short names of local variables save a seventh of what an engine reads at every start. Lines and the names of
    // functions and classes are kept: engines print them in stacks, and models print their classes.
    minify: {
      compress: false,
      mangle: { toplevel: false, keepNames: true },
      codegen: { removeWhitespace: false },
    },
    comments: { legal: false, annotation: true, jsdoc: false },
  });
  writeOwnFunctions(functions, dist);
  const modules = output.flatMap((file) => (file.type === 'chunk' ? file.moduleIds : []));
  return modules.filter((id) => !id.startsWith('\0'));
}

/** Returns a function that returns the modules loaded statically with an entry. */
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
