/** Packs the package, then makes the environments of Python. Tests tell what fails here. */

import { onnxPython, xlaPython } from './export/python.ts';
import { install } from './package/install.ts';

await install(process.argv[2]!).catch(() => null);
xlaPython();
onnxPython();
