import fc from 'fast-check';
import ts from 'typescript';
import { describe, expect, it } from 'vitest';
import { withListed } from '../../src/cli/sources/module-list.js';

const FILE = 'src/app.module.ts';
const LOANS = { list: 'imports', name: 'LoansModule', path: './loans/loans.module.js' } as const;
const COLOUR = { list: 'migrations', name: 'AddColour2', path: './migrations/2-a.js' } as const;

const HEAD = `import { Module } from '@nestjs/common';
import { FrameworkModule, ResourceModule } from '@resource-service/framework';
import { IDENTITY } from './identity.js';
import { ToolsModule } from './tools/tools.module.js';
`;
const HEAD_WITH_LOANS = HEAD.replace(
  'import { ToolsModule',
  "import { LoansModule } from './loans/loans.module.js';\nimport { ToolsModule",
);

/** The texts of the elements of each array literal of a file, with its class and properties, such as `AppModule.imports`. */
function listsOf(text: string): readonly (readonly [owner: string, elements: readonly string[]])[] {
  const source = ts.createSourceFile(FILE, text, ts.ScriptTarget.Latest, true);
  const lists: (readonly [string, readonly string[]])[] = [];
  const visit = (node: ts.Node, owner: string): void => {
    const inside = ts.isClassDeclaration(node)
      ? (node.name?.text ?? '')
      : ts.isPropertyAssignment(node)
        ? `${owner}.${node.name.getText()}`
        : owner;
    if (ts.isArrayLiteralExpression(node)) {
      lists.push([inside, node.elements.map((element) => element.getText())]);
    }
    ts.forEachChild(node, (child) => visit(child, inside));
  };
  visit(source, '');
  return lists;
}

describe('a module is added to the imports of the application', () => {
  it.each([
    [
      'behind a module whose options have lists',
      `@Module({ imports: [FrameworkModule.forRoot(IDENTITY), MailModule.forRoot({ templates: [] })] })`,
      `@Module({ imports: [FrameworkModule.forRoot(IDENTITY), MailModule.forRoot({ templates: [] }), LoansModule] })`,
    ],
    [
      'behind a list of entities',
      `@Module({ imports: [FrameworkModule.forRoot(IDENTITY), TypeOrmModule.forFeature([Tool])] })`,
      `@Module({ imports: [FrameworkModule.forRoot(IDENTITY), TypeOrmModule.forFeature([Tool]), LoansModule] })`,
    ],
    [
      'before a comment at the end',
      `@Module({
  imports: [
    FrameworkModule.forRoot(IDENTITY), // first
    ToolsModule, // imports: []
    // ToysModule,
  ],
})`,
      `@Module({
  imports: [
    FrameworkModule.forRoot(IDENTITY), // first
    ToolsModule, // imports: []
    LoansModule,
    // ToysModule,
  ],
})`,
    ],
    [
      'without a comma at the end, before a comment',
      `@Module({ imports: [
\tFrameworkModule.forRoot(IDENTITY),
\tToolsModule /* ] */ // the last
] })`,
      `@Module({ imports: [
\tFrameworkModule.forRoot(IDENTITY),
\tToolsModule, /* ] */ // the last
\tLoansModule
] })`,
    ],
    [
      'on the line of the only module, before its comment',
      `@Module({ imports: [FrameworkModule.forRoot(IDENTITY) // the framework
] })`,
      `@Module({ imports: [FrameworkModule.forRoot(IDENTITY), LoansModule // the framework
] })`,
    ],
    [
      'behind a spread of a condition',
      `@Module({ imports: [FrameworkModule.forRoot(IDENTITY), ...(process.env['X'] ? [ToolsModule] : [])] as const })`,
      `@Module({ imports: [FrameworkModule.forRoot(IDENTITY), ...(process.env['X'] ? [ToolsModule] : []), LoansModule] as const })`,
    ],
    [
      'of a property in quotes, of a checked type',
      `@Module({ 'imports': ([FrameworkModule.forRoot(IDENTITY)]) satisfies Imports } satisfies ModuleMetadata)`,
      `@Module({ 'imports': ([FrameworkModule.forRoot(IDENTITY), LoansModule]) satisfies Imports } satisfies ModuleMetadata)`,
    ],
    [
      'behind a spread of options, whose list they replace',
      `@Module({ ...OPTIONS, imports: [FrameworkModule.forRoot(IDENTITY)] })`,
      `@Module({ ...OPTIONS, imports: [FrameworkModule.forRoot(IDENTITY), LoansModule] })`,
    ],
    [
      'that are empty but for a comment',
      `@Module({ imports: [ // none
] })`,
      `@Module({ imports: [LoansModule // none
] })`,
    ],
    ['that are missing', `@Module({})`, `@Module({ imports: [LoansModule] })`],
    [
      'that are missing beside other properties',
      `@Module({
    controllers: [],
})`,
      `@Module({
    controllers: [],
    imports: [LoansModule],
})`,
    ],
    [
      'not to an imports of a comment, of a text or of another module',
      `/** @Module({ imports: [A] }) */
@Module({ imports: [], providers: [] })
class Other {}
const TEXT = \`imports: [\${'imports: ['}]\`, PATTERN = /imports: \\[/;
@Global()
@Module({ providers: [{ provide: 'imports', useValue: [TEXT, PATTERN] }], imports: [FrameworkModule.forRoot(IDENTITY)] })`,
      `/** @Module({ imports: [A] }) */
@Module({ imports: [], providers: [] })
class Other {}
const TEXT = \`imports: [\${'imports: ['}]\`, PATTERN = /imports: \\[/;
@Global()
@Module({ providers: [{ provide: 'imports', useValue: [TEXT, PATTERN] }], imports: [FrameworkModule.forRoot(IDENTITY), LoansModule] })`,
    ],
  ])('%s', (_, before, after) => {
    const text = `${HEAD}\n${before}\nexport class AppModule {}\n`;
    expect(withListed(ts, FILE, text, LOANS)).toBe(
      `${HEAD_WITH_LOANS}\n${after}\nexport class AppModule {}\n`,
    );
  });

  it.each([
    ['another name', `import { Module as M } from '@nestjs/common';`, '@M({ imports: [] })'],
    ['a namespace', `import * as nest from '@nestjs/common';`, '@nest.Module({ imports: [] })'],
    ['one name', `import nest from '@nestjs/common';`, '@nest.Module({ imports: [] })'],
    ['double quotes', `import { Module } from "@nestjs/common";`, '@Module({ imports: [] })'],
    ['no semicolon', `import { Module } from '@nestjs/common'`, '@Module({ imports: [] })'],
    ['a comment', `import { Module } from '@nestjs/common'; // Nest`, '@Module({ imports: [] })'],
    ['CRLF', `import { Module } from '@nestjs/common';\r`, '@Module({ imports: [] })\r'],
  ])('of a file that imports Nest with %s, in the style of the file', (_, nest, decorator) => {
    const [eol, quote, end] = [
      nest.endsWith('\r') ? '\r\n' : '\n',
      nest.includes('"') ? '"' : "'",
      nest.includes(';') ? ';' : '',
    ];
    const changed = withListed(ts, FILE, `${nest}\n\n${decorator}\nexport class A {}`, LOANS);
    const line = `import { LoansModule } from ${quote}./loans/loans.module.js${quote}${end}`;
    expect(changed).toBe(
      `${nest.trimEnd()}${eol}${line}${eol}\n${decorator.replace('[]', '[LoansModule]')}\nexport class A {}`,
    );
  });

  it.each([
    ['a name for the list', '@Module({ imports: MODULES })', '6 has imports of @Module() that are'],
    [
      'a filter',
      '@Module({ imports: [A].filter(Boolean) })',
      '6 has imports of @Module() that are',
    ],
    ['a shorthand', '@Module({ imports })', '6 has imports of @Module() that are no list'],
    ['a name for the options', '@Module(OPTIONS)', '6 has options of @Module() that are no object'],
    ['a spread of options', '@Module({ ...OPTIONS })', '6 may have the imports of @Module()'],
    [
      'a spread behind the list',
      '@Module({ imports: [A], providers: [], ...OPTIONS })',
      '6 may have the imports of @Module()',
    ],
    ['a spread of arguments', '@Module(...OPTIONS)', '6 has a @Module() whose options'],
    ['the class', '@Module({ imports: [LoansModule] })', '6 has the name LoansModule already'],
    ['a call of it', '@Module({ imports: [LoansModule.forRoot()] })', '6 has the name LoansModule'],
    ['a mistake', '@Module({ imports: [A })', "6 does not compile: ',' expected."],
    ['no decorator', '', ' has no class with @Module()'],
    [
      'two applications',
      '@Module({ imports: [] })\nexport class B {}\n@Module({ imports: [] })',
      '8 has a further module: which one is the application?',
    ],
  ])('is refused with %s', (_, decorator, message) => {
    const text = `${HEAD}\n${decorator}\nexport class ToolModule {}\n`;
    expect(() => withListed(ts, FILE, text, LOANS)).toThrow(
      `${FILE}${message.startsWith(' ') ? '' : ':'}${message}`,
    );
  });
});

describe('a migration is added to the migrations of a resource', () => {
  it.each([
    ['a list', '[Tool], { migrations: [A1] }', '[Tool], { migrations: [A1, AddColour2] }'],
    ['an empty list', '[Tool], { migrations: [] }', '[Tool], { migrations: [AddColour2] }'],
    [
      'a block comment',
      '[], { migrations: [A1 /* ] */] }',
      '[], { migrations: [A1, AddColour2 /* ] */] }',
    ],
    [
      'a comment at the end',
      '[Tool], { migrations: [\n  A1,\n  // the last\n] }',
      '[Tool], { migrations: [\n  A1,\n  AddColour2,\n  // the last\n] }',
    ],
    ['no list', '[Tool], { functions: [] }', '[Tool], { functions: [], migrations: [AddColour2] }'],
    ['no options', '[Tool]', '[Tool], { migrations: [AddColour2] }'],
  ])('with %s', (_, before, after) => {
    const moduleOf = (options: string) =>
      `${HEAD}\n// migrations: []\n@Module({ imports: [Other.forRoot({ migrations: [] }), ResourceModule.forFeature(${options})] })\nexport class ToolsModule {}\n`;
    expect(withListed(ts, FILE, moduleOf(before), COLOUR)).toBe(
      moduleOf(after).replace(
        'import { ToolsModule',
        "import { AddColour2 } from './migrations/2-a.js';\nimport { ToolsModule",
      ),
    );
  });

  it.each([
    [
      'a name for the list',
      '@Module({ imports: [ResourceModule.forFeature([], { migrations: ALL })] })',
    ],
    ['a name for the options', '@Module({ imports: [ResourceModule.forFeature([], OPTIONS)] })'],
    [
      'a spread behind the list',
      '@Module({ imports: [ResourceModule.forFeature([], { migrations: [], ...OPTIONS })] })',
    ],
    ['no resource', '@Module({ imports: [] })'],
    [
      'two modules',
      `@Module({ imports: [ResourceModule.forFeature([], { migrations: [] })] })
       export class A {}
       @Module({ imports: [ResourceModule.forFeature([], { migrations: [] })] })`,
    ],
  ])('is refused with %s', (_, decorator) => {
    const text = `${HEAD}\n${decorator}\nexport class ToolsModule {}\n`;
    expect(() => withListed(ts, FILE, text, COLOUR)).toThrow(FILE);
  });
});

/** What may be between the tokens of a list. */
const trivia = fc.constantFrom(
  '',
  ' ',
  '\n    ',
  ' /* ] } */ ',
  ' // imports: [\n',
  '\n/** @Module({ imports: [] }) */\n',
);

const element = fc.constantFrom(
  'ToolsModule',
  'MailModule.forRoot({ templates: [], imports: [1, [2]], })',
  'TypeOrmModule.forFeature([Tool])',
  "...(process.env['X'] ? [ToolsModule] : [])",
  'forwardRef(() => ToolsModule)',
  `TextModule.of("]", ']', \`]\${[']']}\`, /[\\]]/)`,
);

const list = fc
  .tuple(fc.array(fc.tuple(trivia, element, trivia), { maxLength: 4 }), fc.boolean(), trivia)
  .map(([items, hasComma, end]) => {
    const texts = items.map(([before, text, after]) => `${before}${text}${after}`);
    return `[${texts.join(',')}${hasComma && items.length > 0 ? ',' : ''}${end}]`;
  });

const options = fc
  .tuple(
    list,
    list,
    fc.constantFrom('', ' as const', ' satisfies unknown[]'),
    fc.boolean(),
    fc.boolean(),
  )
  .map(([imports, providers, type, isFirst, hasComma]) => {
    const properties = [`imports: ${imports}${type}`, `providers: ${providers}`];
    return `{ ${(isFirst ? properties : properties.toReversed()).join(', ')}${hasComma ? ',' : ''} }`;
  });

/** A file of which `AppModule` is the application, in any style. */
const file = fc
  .record({
    bom: fc.constantFrom('', '\uFEFF'),
    others: fc.array(options, { maxLength: 2 }),
    application: options,
    form: fc.constantFrom(
      '@Module(%)\nexport class AppModule {}',
      '@Global()\n@Module(%) // the application\nexport class AppModule {}',
      'export @Module(%) class AppModule {}',
      '@Module(%)\nclass AppModule {}\nexport { AppModule };',
      '@Module(%)\nclass AppModule {}\nexport default AppModule;',
    ),
    quote: fc.constantFrom("'", '"'),
    semicolon: fc.constantFrom(';', ''),
    eol: fc.constantFrom('\n', '\r\n'),
  })
  .map(({ bom, others, application, form, quote, semicolon, eol }) => {
    const imports = [
      '{ Global, Module } @nestjs/common',
      '{ IDENTITY } ./identity.js',
      '* as tools ./tools.js',
    ]
      .map((each) => each.split(/ (?=\S+$)/))
      .map(([names, path]) => `import ${names} from ${quote}${path}${quote}${semicolon}\n`);
    const modules = others.map((each, n) => `@Module(${each})\nclass Other${n} {}\n`);
    const lines = [...imports, ...modules, form.replace('%', () => application), ''];
    return { eol, text: `${bom}${lines.join('\n')}`.replaceAll('\n', eol) };
  });

it('whatever the file looks like, one list gets one more element, and the rest stays as it is', () => {
  fc.assert(
    fc.property(file, ({ text, eol }) => {
      const changed = withListed(ts, FILE, text, LOANS);
      const before = listsOf(text);
      const after = listsOf(changed);
      const changes = after.flatMap(([owner, elements], n) => {
        const old = before[n]?.[1] ?? [];
        return elements.join() === old.join() ? [] : [{ owner, old, elements }];
      });
      expect(after).toHaveLength(before.length);
      const old = changes[0]?.old ?? [];
      expect(changes).toEqual([
        { owner: 'AppModule.imports', old, elements: [...old, 'LoansModule'] },
      ]);
      const { diagnostics } = ts.transpileModule(changed, { reportDiagnostics: true });
      expect(diagnostics).toEqual([]);
      expect(changed.split(eol).join('')).not.toMatch(/[\r\n]/);
      // Without what was inserted, every character is where it was.
      const [line = ''] = /import \{ LoansModule \} from .*\r?\n/.exec(changed) ?? [];
      const without = changed.replace(line, '').replace(/,?\s*LoansModule,?/, '');
      expect(without.replaceAll(/[,\s]/g, '')).toBe(text.replaceAll(/[,\s]/g, ''));
    }),
    { numRuns: 40 },
  );
});
