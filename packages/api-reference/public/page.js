/* The docs page: the server renders it, and the modules add what needs a script. */

import { followReader } from './contents.js';
import { addCopyButtons } from './copy.js';
import { keepForms } from './kept-forms.js';
import { addSearch } from './search.js';
import { askForToken } from './token.js';
import { addForms } from './try-it.js';

askForToken();
addCopyButtons(document);
addForms();
keepForms();
addSearch();
followReader();
