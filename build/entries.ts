/** The modules that packages and code load by name. */

/**
 * Namespaces that `runtime/functions` exports under one name each. They stay separate modules, since a bundler that
 * sees such a namespace as an object can't drop its unused members.
 */
export const namespaces = ['nn/index', 'optim/index', 'data/index', 'profiler/profiler'];

/**
 * The chunk that reads `TOSTATIC_NUMERICS`. Only entries for Node load it: pages would load the portable functions with
 * it.
 */
export const environment = 'environment';

/**
 * Modules that are loaded by name: in `package.json`, or by URL in the code. True for those that differ in Node only by
 * loading the chunk of the environment.
 */
const modules: Readonly<Record<string, boolean>> = {
  'runtime/index': true,
  'runtime/functions': true,
  'runtime/load': true,
  'runtime/nn/index': true,
  'runtime/optim/index': true,
  'runtime/data/index': false,
  'runtime/profiler/profiler': false,
  'runtime/distributions/index': true,
  'runtime/data/mnist': true,
  'runtime/data/worker-main': false,
  'runtime/revectorize': false,
  'runtime/weights/index': true,
  'src/export/index': true,
  'src/onnx/index': true,
  'src/onnxruntime/index': true,
  'src/onnxruntime/web': true,
  'src/tensorboard/index': true,
  'src/page': false,
  'src/deferred/index': false,
  'src/node/index': false,
  'src/node/deferred': false,
  'src/1-capture/marked/probe': false,
  'src/plugin/index': false,
  'src/plugin/node-loader': false,
  'src/plugin/turbopack-loader': false,
  'src/plugin/node-hooks': false,
  'src/cli/main': false,
  'src/cli/compare/variant-process': false,
  'src/cli/run/run-worker': false,
};

export const entries = Object.keys(modules);
export const sameInNode = entries.filter((path) => modules[path]);
