import ts from 'typescript';
import { describe, expect, it } from 'vitest';
import { withOption } from '../../src/cli/sources/repository-option.js';

const FILE = 'src/tools/tools.repository.ts';
const OPTION = {
  name: 'changes',
  value: "recordChanges(ToolChange, 'tool')",
  type: { name: 'Feed', path: '@resource-service/changes', isType: true },
  imports: [
    { name: 'recordChanges', path: '@resource-service/changes' },
    { name: 'ToolChange', path: '../tool-changes/tool-change.entity.js' },
  ],
  conflicts: { changes: 'records its changes already', visible: 'has visible rows only' },
};
const HEAD = `import { ResourceRepository } from '@resource-service/framework';
import { Tool } from './tool.entity.js';
`;
const HEAD_WITH_CHANGES = `import { ResourceRepository } from '@resource-service/framework';
import { recordChanges } from '@resource-service/changes';
import { ToolChange } from '../tool-changes/tool-change.entity.js';
import { Tool } from './tool.entity.js';
`;

const HEAD_WITH_TYPE = HEAD_WITH_CHANGES.replace(
  'import { ToolChange',
  "import type { Feed } from '@resource-service/changes';\nimport { ToolChange",
);

const added = (text: string): string => withOption(ts, FILE, text, OPTION);

describe('an option is added to a repository', () => {
  it.each([
    [
      'with two type arguments',
      `export class Tools extends ResourceRepository<Tool, ListTools>(Tool, { name: 'tools' }) {}`,
      `export class Tools extends ResourceRepository<Tool, ListTools, Feed>(Tool, { name: 'tools', changes: recordChanges(ToolChange, 'tool') }) {}`,
    ],
    [
      'without type arguments, on a line of its own before a comment',
      `export class Tools extends ResourceRepository(Tool, {
  name: 'tools', // changes: none
  // visible: {}
}) {}`,
      `export class Tools extends ResourceRepository(Tool, {
  name: 'tools', // changes: none
  changes: recordChanges(ToolChange, 'tool'),
  // visible: {}
}) {}`,
    ],
    [
      'beside other classes',
      `class Other extends Base {}
class Tools extends ResourceRepository(Tool, { ...OPTIONS } as const) {}
class Another extends made(Tool) {}`,
      `class Other extends Base {}
class Tools extends ResourceRepository(Tool, { ...OPTIONS, changes: recordChanges(ToolChange, 'tool') } as const) {}
class Another extends made(Tool) {}`,
    ],
  ])('%s', (_, before, after) => {
    const head = after.includes('Feed>') ? HEAD_WITH_TYPE : HEAD_WITH_CHANGES;
    expect(added(`${HEAD}\n${before}\n`)).toBe(`${head}\n${after}\n`);
  });

  it('in the style of the file', () => {
    const inStyle = (text: string) =>
      text
        .replaceAll('\n', '\r\n')
        .replaceAll(/'(?=;)|(?<=from )'/g, '"')
        .replaceAll(';', '');
    const classOf = (options: string) =>
      `class Tools extends ResourceRepository(Tool, ${options}) {}\n`;
    expect(added(inStyle(HEAD + classOf('{}')))).toBe(
      inStyle(HEAD_WITH_CHANGES + classOf(`{changes: ${OPTION.value}}`)),
    );
  });
});

describe('a repository is refused', () => {
  it.each([
    [
      'with the option',
      `class Tools extends ResourceRepository(Tool, { changes }) {}`,
      'src/tools/tools.repository.ts:3 records its changes already',
    ],
    [
      'with an option that excludes it',
      `class Tools extends ResourceRepository(Tool, { visible: {} }) {}`,
      ':3 has visible rows only',
    ],
    [
      'with options elsewhere',
      `class Tools extends ResourceRepository(Tool, OPTIONS) {}`,
      'has no class that extends a repository with options in braces',
    ],
    [
      'beside another one',
      `class A extends R(Tool, {}) {}\nclass B extends R(Tool, {}) {}`,
      ':4 has a further repository',
    ],
    [
      'with one type argument',
      `class Tools extends R<Tool>(Tool, {}) {}`,
      ':3 has not the two type arguments before Feed',
    ],
    [
      'with one of the names',
      `class Feed {}\nclass Tools extends R<Tool, List>(Tool, {}) {}`,
      ':3 has the name Feed already',
    ],
    ['that does not compile', `class Tools extends R(Tool, {) {}`, ':3 does not compile'],
  ])('%s', (_, text, message) => {
    expect(() => added(HEAD + text)).toThrow(message);
  });
});
