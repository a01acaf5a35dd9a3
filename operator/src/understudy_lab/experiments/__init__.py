"""The papers' experiments on the protocol core, in simulated time.

| module     | holds |
|------------|-------|
| experiment | cells (the paper's figure beside ours), checks (a trend or order that must hold), assumptions |
| page       | an experiment as Markdown, and back |
| plot       | an experiment as SVG, drawn with matplotlib |
| catalogue  | all of them by name |
| hwang…, xiao…, koldehofe, zhang, osiris | one paper each |
| planner    | the cost model's predictions against the simulator |
"""
