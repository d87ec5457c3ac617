import { marked } from 'marked';
import { Html } from './html.js';

export function inlineMarkdown(text: string): Html {
  return new Html(marked.parseInline(text, { async: false }));
}

export function markdown(text: string): Html {
  return new Html(marked.parse(text, { async: false }));
}
