// Four type-aware rules and nothing else: what Biome cannot see yet (promises typed by dependencies).
import tseslint from "typescript-eslint";

export default [
  { ignores: ["dist/**", "node_modules/**", "src/api/gen/**", "**/*.mjs", ".tap/**", ".orch/**"] },
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
];
