/* A page of the documentation: the server renders it, and the modules add what needs a script. */

import { followReader } from './contents.js';
import { addCopyButtons } from './copy.js';

addCopyButtons(document);
if (document.querySelector('.sidebar')) followReader();
