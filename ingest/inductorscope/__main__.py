from inductorscope.cli import main

main()
