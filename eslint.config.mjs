// What Biome cannot see yet: four type-aware rules (promises typed by dependencies), the order of imports, and patterns that are not linear.
import tseslint from "typescript-eslint";
import { importOrder } from "./eslint.layers.mjs";
import { linear, noLatePatterns } from "./eslint.linear.mjs";

export default [
  { ignores: ["bundle/**", "dist/**", "wasm/**", "node_modules/**", "src/api/gen/**", ".tap/**", ".orch/**"] },
  {
    files: ["**/*.ts"],
    plugins: { "@typescript-eslint": tseslint.plugin },
    languageOptions: {
      parser: tseslint.parser,
      parserOptions: { projectService: true, tsconfigRootDir: import.meta.dirname },
    },
    linterOptions: { reportUnusedDisableDirectives: "error" },
    rules: {
      // tap's subtests report to their parent; nobody awaits them.
      "@typescript-eslint/no-floating-promises": [
        "error",
        { allowForKnownSafePromises: [{ from: "package", name: "PromiseWithSubtest", package: "@tapjs/core" }] },
      ],
      "@typescript-eslint/no-misused-promises": "error",
      "@typescript-eslint/switch-exhaustiveness-check": ["error", { considerDefaultExhaustiveForUnions: true }],
      "@typescript-eslint/return-await": ["error", "in-try-catch"],
    },
  },
  {
    files: ["src/**/*.ts", "workers/**/*.ts"],
    rules: {
      "@typescript-eslint/no-restricted-imports": [
        "error",
        {
          paths: [
            { name: "node:http", allowTypeImports: true, message: "base/http.ts has it, without what an import loads" },
          ],
        },
      ],
    },
  },
  importOrder,
  linear,
  noLatePatterns,
];
