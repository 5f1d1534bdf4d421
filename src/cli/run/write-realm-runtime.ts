/** Part of building the package: writes the runtime of a realm next to the command, as one text. */

import { writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { bundleRealm } from './realm-runtime.ts';

const entry = fileURLToPath(new URL('../../vm/realm/script-steps.js', import.meta.url));
writeFileSync(new URL('./realm-runtime.txt', import.meta.url), await bundleRealm(entry));
