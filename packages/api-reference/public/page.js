/* The docs page: the server renders it, and the modules add what needs a script. */

import { followReader } from './contents.js';
import { addCopyButtons } from './copy.js';
import { fillInAddress } from './samples.js';
import { addSearch } from './search.js';
import { askForToken } from './token.js';
import { addForms } from './try-it.js';

fillInAddress();
askForToken();
addCopyButtons(document);
addForms();
addSearch();
followReader();
