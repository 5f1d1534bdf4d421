/** tostatic for Node: everything that a page has, and captures through the engine's inspector. */

import './1-capture/inspector.ts';
import '../runtime/numerics/environment.ts';

export * from './page.ts';
