import { builtinModules } from 'node:module';
import tseslint from 'typescript-eslint';

/** Through these the clock, chance and threads are reached: what has another name is found by no rule. */
const TELLING = ['Date', 'Math', 'Intl', 'AbortSignal', 'Reflect'];
const named = `[name=/^(${TELLING.join('|')})$/]`;

// Rules that matter to a system of promises and processes: no promise is dropped, no promise is taken for a value.
export default tseslint.config(
  { ignores: ['dist/**', 'node_modules/**', 'coverage/**', '.moorage/**'] },
  ...tseslint.configs.recommendedTypeChecked,
  {
    languageOptions: { parserOptions: { projectService: true, tsconfigRootDir: import.meta.dirname } },
    rules: {
      '@typescript-eslint/no-floating-promises': 'error',
      '@typescript-eslint/no-misused-promises': 'error',
      '@typescript-eslint/switch-exhaustiveness-check': [
        'error',
        { considerDefaultExhaustiveForUnions: true },
      ],
      '@typescript-eslint/consistent-type-imports': 'error',
      '@typescript-eslint/require-await': 'off',
      '@typescript-eslint/no-unused-vars': ['error', { argsIgnorePattern: '^_', varsIgnorePattern: '^_' }],
      '@typescript-eslint/only-throw-error': 'error',
    },
  },
  {
    // Rule 8 of the design: time, randomness and identity are arguments. The roles see the world through ports only.
    files: [
      'src/core/**',
      'src/runtime/**',
      'src/clients/**',
      'schedulers/**',
      'host-agent/**',
      'monitor/**',
      'arbiter/**',
      'sim/**',
    ],
    // `sim/agenda/drive.ts` turns Node's event loop, `sim/seeds` runs worlds on threads: the simulator's own hands.
    ignores: [
      '**/main.ts',
      '**/hollow-main.ts',
      'host-agent/shim/**',
      'host-agent/native/**',
      'sim/agenda/drive.ts',
      'sim/seeds/**',
    ],
    rules: {
      'no-restricted-globals': [
        'error',
        ...[
          ...[
            'setTimeout',
            'setInterval',
            'setImmediate',
            'performance',
            'process',
            'crypto',
            'globalThis',
            'global',
          ],
          ...['Atomics', 'SharedArrayBuffer', 'Worker', 'eval', 'Function'],
          ...['fetch', 'WebSocket', 'EventSource', 'BroadcastChannel', 'MessageChannel', 'navigator'],
        ].map((name) => ({ name, message: 'Take it from a port: the simulator must be able to stand in.' })),
      ],
      'no-restricted-properties': [
        'error',
        { object: 'Date', property: 'now', message: 'Take the time from the clock port.' },
        { object: 'Math', property: 'random', message: 'Take randomness from the random port.' },
        { object: 'AbortSignal', property: 'timeout', message: 'Use the clock port.' },
        {
          object: 'Intl',
          property: 'DateTimeFormat',
          message: 'Format times from the clock port as ISO 8601.',
        },
      ],
      'no-restricted-syntax': [
        'error',
        {
          selector: "NewExpression[callee.name='Date'][arguments.length=0]",
          message: 'Take the time from the clock port.',
        },
        {
          // Called, handed on or given another name; `new Date(ms)`, `Date.parse` and types stay.
          selector: `:not(NewExpression, MemberExpression, TSTypeReference, TSQualifiedName) > Identifier${named}`,
          message: 'Take time and chance from their ports, and name nothing that leads to them otherwise.',
        },
        {
          selector: `NewExpression > Identifier.arguments${named}`,
          message: 'Take time and chance from their ports, and name nothing that leads to them otherwise.',
        },
        {
          selector: `MemberExpression[computed=true][object.name=/^(${TELLING.join('|')})$/]`,
          message: 'Say by name which property is meant.',
        },
        {
          selector: 'MemberExpression[property.name=/^toLocale(Date|Time)String$/]',
          message: 'Format times as ISO 8601: where a machine stands is no input.',
        },
        {
          selector: 'ImportExpression:not([source.value=/^[.]/])',
          message: 'Take it from a port: the simulator must be able to stand in.',
        },
        { selector: "NewExpression[callee.name='WeakRef']", message: 'Collection is no event of ours.' },
        {
          selector: "NewExpression[callee.name='FinalizationRegistry']",
          message: 'Collection is no event of ours.',
        },
      ],
      'no-restricted-imports': [
        'error',
        {
          paths: builtinModules.filter((name) => !name.startsWith('_')),
          patterns: ['node:*'],
        },
      ],
    },
  },
  { files: ['**/*.js', '**/*.mjs'], ...tseslint.configs.disableTypeChecked },
);
