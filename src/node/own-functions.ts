/** Functions of this package in lowered form, from the file that the build writes. */

import { provideStoredFunctions } from '../1-capture/marked/stored-functions.ts';
import { builtinModule } from '../1-capture/script/builtin-module.ts';
import { readFunction } from '../1-capture/stored/read-function.ts';
import type { StoredFunctions } from '../1-capture/stored/stored-functions.ts';

type Modules = Readonly<Record<string, StoredFunctions>>;

let modules: Modules | undefined;

provideStoredFunctions((file, start) => {
  modules ??= readModules();
  const stored = modules[file]?.[start];
  return stored === undefined ? undefined : readFunction(stored);
});

/**
 * Returns nothing if the file is missing, as in a bundle: functions are then parsed and lowered. A CommonJS bundle has
 * no `import.meta.url` either.
 */
function readModules(): Modules {
  try {
    const file = new URL('./own-functions.json', import.meta.url);
    return JSON.parse(builtinModule('node:fs')!.readFileSync(file, 'utf8')) as Modules;
  } catch {
    return {};
  }
}
