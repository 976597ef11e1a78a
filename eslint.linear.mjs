// No regular expression may take more time than its input is long. Used by `eslint .` and by test/linear.test.ts, which
// also hands it the patterns that are put together while modules load, for the rules see literals only.
import regexp from "eslint-plugin-regexp";
import tseslint from "typescript-eslint";

/** Patterns that backtrack, or start anew at each character, so that time grows faster than the input. */
export const linear = {
  files: ["**/*.ts", "**/*.mjs"],
  plugins: { regexp },
  languageOptions: { parser: tseslint.parser },
  rules: {
    "regexp/no-super-linear-backtracking": ["error", { report: "potential" }],
    // A sticky pattern is tried at one place only; what moves it on is a loop of ours.
    "regexp/no-super-linear-move": ["error", { report: "potential", ignorePartial: false, ignoreSticky: true }],
  },
};

/** In what runs as the server, patterns are put together while modules load, never while a request is served. */
export const noLatePatterns = {
  files: ["src/**/*.ts", "workers/**/*.ts"],
  rules: {
    "no-restricted-syntax": [
      "error",
      {
        selector: ":function :matches(NewExpression, CallExpression)[callee.name='RegExp']",
        message:
          "A pattern made while a request is served cannot be checked: compose it when the module loads, or use re2js.",
      },
    ],
  },
};

export default [
  { ignores: ["dist/**", "node_modules/**", "src/api/gen/**", ".tap/**", ".orch/**"] },
  linear,
  noLatePatterns,
];
